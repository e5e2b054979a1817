"""The structural tags of the models' tool calls: what their chat templates print, as formats.

A model that differs from others in data only is an entry of `formats.py`; the two that need code have a file each. Begin with
`tool_call_format.py`.
"""
