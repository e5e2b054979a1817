"""Errors as OpenAI's API has them."""

from typing import Any


class ApiError(Exception):
    """What a client is told, and the status of the answer.

    Args:
        message: the place, the cause and the way out.
        param: the field of the request that has to change.
        status: of HTTP.
        code: a word for programs.
    """

    def __init__(self, message: str, param: str | None = None, *, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.param, self.status, self.code = param, status, code

    @property
    def content(self) -> dict[str, Any]:
        """The body of the answer."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def no_such_model(asked: str, model: str) -> ApiError:
    """The error for another model than the server's."""
    return ApiError(f"the model {asked!r} does not exist; this server has {model!r}", "model", status=404, code="model_not_found")


class ClientGone(Exception):
    """Nobody waits for the answer any more."""
