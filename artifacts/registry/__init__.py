"""Registries: folders of artifacts that other hosts read, over HTTP, as files, or in a bucket; see docs/registry-protocol.md.

Lives here: the client (`client.py`, a transport for each kind of address), downloads that resume, signatures, and a server
(`serving.py` reads, `pushing.py` writes, `listening.py` is its process). It may import `psc.artifacts`. Begin with `client.py`.
"""
