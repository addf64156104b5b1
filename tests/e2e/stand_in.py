"""A stand-in for a model on loopback: it calls the tools it is told to, then answers with OK."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class StandIn:
    """Serves while it is used in a `with`; `url` is where it is, `asked` what came.

    Args:
        calls: tools to call, one an answer, before it says OK: name, input, and namespace if any.
    """

    def __init__(self, calls=()):
        self.asked = []
        self.left = list(calls)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def text(self):
        """Return all that the model was told, as one text."""
        return "\n".join(text for body in self.asked for text in _texts(body))

    def _handler(self):
        asked, left = self.asked, self.left

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self._answer("text/plain", "")

            def do_GET(self):
                self._answer("application/json", json.dumps({"data": [], "models": []}))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
                path = self.path.partition("?")[0]
                if path.endswith(("/count_tokens", ":countTokens")):
                    counted = {"input_tokens": 10, "totalTokens": 10}
                    self._answer("application/json", json.dumps(counted))
                    return
                asked.append(body)
                # Some ask without tools for the title of a conversation.
                call = left.pop(0) if left and body.get("tools") else None
                if path.endswith("enerateContent"):
                    self._answer("text/event-stream", _data(_generated(call)))
                    return
                if path.endswith("/chat/completions"):
                    chunks = "".join(map(_data, _completion(body, call)))
                    self._answer("text/event-stream", f"{chunks}data: [DONE]\n\n")
                    return
                events = {"/v1/messages": _message, "/v1/responses": _response}[path](body, call)
                if body.get("stream"):
                    self._answer("text/event-stream", "".join(map(_event, events)))
                else:
                    self._answer("application/json", json.dumps(events[0]["message"]))

            def _answer(self, kind, text):
                body = text.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler


def _texts(value):
    match value:
        case str():
            yield value
        case dict():
            for name, one in value.items():
                if name != "tools":
                    yield from _texts(one)
        case list():
            for one in value:
                yield from _texts(one)


def _event(event):
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _data(said):
    return f"data: {json.dumps(said)}\n\n"


def _message(body, call):
    """The events of an answer in the form of Anthropic's Messages."""
    reason = "tool_use" if call else "end_turn"
    block = {"type": "text", "text": "OK"}
    begun = block | {"text": ""}
    delta = {"type": "text_delta", "text": "OK"}
    if call:
        # An agent takes two calls of the same id for one.
        identity = f"toolu_{len(body['messages'])}"
        begun = {"type": "tool_use", "id": identity, "name": call[0], "input": {}}
        block = begun | {"input": call[1]}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    message = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    empty = message if not body.get("stream") else message | {"content": [], "stop_reason": None}
    stopped = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_start", "message": empty},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _response(body, call):
    """The events of an answer in the form of OpenAI's Responses."""
    item = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "OK", "annotations": []}],
    }
    if call:
        name, given, *namespace = call
        item = {
            "type": "function_call",
            "id": "f1",
            "call_id": "call_1",
            "name": name,
            "arguments": json.dumps(given),
            "status": "completed",
        } | ({"namespace": namespace[0]} if namespace else {})
    response = {
        "id": "r1",
        "object": "response",
        "status": "completed",
        "model": body.get("model"),
        "output": [item],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    }
    started = response | {"status": "in_progress", "output": []}
    return [
        {"type": "response.created", "response": started},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


def _completion(body, call):
    """The chunks of an answer in the form of OpenAI's Chat Completions."""
    delta = {"role": "assistant", "content": "OK"}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        used = {"index": 0, "id": "call_1", "type": "function", "function": function}
        delta = {"role": "assistant", "tool_calls": [used]}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    reason = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return [
        chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
    ]


def _generated(call):
    """An answer in the form of Gemini."""
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "OK"}
    content = {"role": "model", "parts": [part]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
