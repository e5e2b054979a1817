"""The structural tags of the models' tool calls: what their chat templates print, as formats."""
