"""Registries: folders of artifacts that other hosts read, over HTTP, as files, or in a bucket; see docs/registry-protocol.md."""
