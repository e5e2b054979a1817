"""Errors as OpenAI's API has them."""

from typing import Any

from psc.support.readable import shortened


class ApiError(Exception):
    """What a client is told, and the status of the answer.

    Args:
        message: the place, the cause and the way out.
        param: the field of the request that has to change.
        status: of HTTP.
        code: a word for programs.
    """

    def __init__(self, message: str, param: str | None = None, *, status: int = 400, code: str | None = None) -> None:
        super().__init__(_encodable(message))
        self.param = None if param is None else _encodable(shortened(param))
        self.status, self.code = status, code

    @property
    def content(self) -> dict[str, Any]:
        """The body of the answer."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def no_such_model(asked: str, model: str) -> ApiError:
    """The error for another model than the server's."""
    return ApiError(
        f"the model {shortened(repr(asked))} does not exist; this server has {model!r}", "model", status=404, code="model_not_found"
    )


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


def _encodable(text: str) -> str:
    """The text with halves of surrogate pairs, which JSON can spell and UTF-8 cannot, as escapes."""
    return text.encode(errors="backslashreplace").decode()
