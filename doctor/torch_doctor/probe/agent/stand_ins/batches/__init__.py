"""The batch that a loop wants, where its data cannot be read: found in a rehearsal of the pass, by how it is used."""
