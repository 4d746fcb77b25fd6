"""What several rules read out of a trace, or too much for the module of one: views of events, evidence, wording."""
