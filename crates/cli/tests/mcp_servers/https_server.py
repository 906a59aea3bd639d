"""An MCP server over streamable HTTP behind TLS. Its argument is a file with its certificate and key; it prints its port."""

import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = message.get("method")
        if "id" not in message:
            return self.answer(202)
        results = {
            "initialize": lambda: {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "https", "version": "1"},
            },
            "tools/list": lambda: {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
            "tools/call": lambda: {"content": [{"type": "text", "text": "said in confidence"}]},
        }
        if method not in results:
            error = {"code": -32601, "message": "no such method"}
            return self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})
        self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": results[method]()})

    def do_GET(self):
        self.answer(405)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
