"""A stand-in for a model on loopback: it answers every question with OK, and keeps it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class StandIn:
    """Serves while it is used in a `with`; `url` is where it is, `asked` what came."""

    def __init__(self):
        self.asked = []
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
        asked = self.asked

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
                if path.endswith("/count_tokens"):
                    self._answer("application/json", json.dumps({"input_tokens": 10}))
                    return
                asked.append(body)
                events = {"/v1/messages": _message, "/v1/responses": _response}[path](body)
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


def _message(body):
    """The events of an answer in the form of Anthropic's Messages."""
    text = {"type": "text", "text": "OK"}
    message = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [text],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    empty = message if not body.get("stream") else message | {"content": [], "stop_reason": None}
    stopped = {"stop_reason": "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": empty},
        {"type": "content_block_start", "index": 0, "content_block": text | {"text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "OK"},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _response(body):
    """The events of an answer in the form of OpenAI's Responses."""
    item = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "OK", "annotations": []}],
    }
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
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": item | {"content": [], "status": "in_progress"},
        },
        {
            "type": "response.output_text.delta",
            "item_id": "m1",
            "output_index": 0,
            "content_index": 0,
            "delta": "OK",
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
