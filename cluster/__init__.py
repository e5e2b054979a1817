"""Batch compilation on a cluster. Nothing here yet: the Ray pipeline is a later step."""
