"""A language server: what a scan finds, in an editor, as one types.

One process speaks with the editor (`serving.serve`); another, which it starts, looks at the files, so that nothing which
happens there ends the server.
"""
