"""Stand-ins for what Hugging Face libraries would fetch: data sets, metrics, models, tokenizers; what is cached is used."""
