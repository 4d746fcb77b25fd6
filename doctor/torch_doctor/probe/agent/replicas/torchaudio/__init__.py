"""What scripts use of torchaudio, for machines without it: waves, spectra of them, and data sets of both."""
