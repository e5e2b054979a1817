"""OpenAI's protocol for a language model whose texts psc constrains: what clients send, how texts are made, what is answered.

The way of a request: `fields` and `constraints` and `tools` read its body into a `task`; `generation` makes its texts, token by
token, under a grammar; `tool_calls` finds the calls in them; `answers` writes them as OpenAI does; `application` has the routes.
"""
