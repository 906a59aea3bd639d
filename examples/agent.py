#!/usr/bin/env python3
"""Asks a model through the gateway on this machine and prints the instructions it had: agent.py WORKSPACE QUESTION.

Needs only the standard library. The class speaks WebSocket and JSON-RPC; the function below it is the agent.
"""
import base64, collections, json, os, pathlib, socket, struct, sys, urllib.parse


class Gateway:
    def __init__(self, url, token):
        address = urllib.parse.urlparse(url)
        self.socket = socket.create_connection((address.hostname, address.port))
        self.stream = self.socket.makefile("rb")
        self.calls, self.notifications = 0, collections.deque()
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET /rpc HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {token}\r\n"
        head += "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        head += f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: foreword.v1\r\n\r\n"
        self.socket.sendall(head.encode())
        status = self.stream.readline().decode().strip()
        while self.stream.readline().strip():
            pass
        if " 101 " not in f"{status} ":
            sys.exit(f"the gateway refuses the connection: {status}")

    def send(self, kind, data):
        size, mask = len(data), os.urandom(4)
        layout, mark = ("!BH", 126) if size < 65536 else ("!BQ", 127)
        length = bytes([size]) if size < 126 else struct.pack(layout, mark, size)
        head = bytes([0x80 | kind, 0x80 | length[0]]) + length[1:] + mask
        self.socket.sendall(head + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        text = b""
        while (head := self.stream.read(2)) and head[0] & 0x0F != 8:  # 8 is a close frame
            length = head[1] & 0x7F
            if length > 125:
                length = int.from_bytes(self.stream.read(2 if length == 126 else 8), "big")
            data = self.stream.read(length)
            kind = head[0] & 0x0F
            if kind == 9:  # answer a ping with a pong
                self.send(10, data)
            elif kind in (0, 1):
                text += data
                if head[0] & 0x80:
                    return json.loads(text)
        sys.exit("the gateway has closed the connection")

    def call(self, method, **params):
        self.calls += 1
        request = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}
        self.send(1, json.dumps(request).encode())
        while (message := self.receive()).get("id") != self.calls:
            self.notifications.append(message)
        if "error" in message:
            sys.exit(f"{method}: {message['error']['message']}")
        return message["result"]

    def notification(self):
        return self.notifications.popleft() if self.notifications else self.receive()


def ask(gateway, workspace, question):
    here = {"workspace_id": workspace}
    thread = gateway.call("thread/create", **here, title=question[:80], mode="agent")["thread"]
    gateway.call("events/subscribe", **here)
    turn = gateway.call("turn/start", **here, thread_id=thread["id"], input=question)["turn"]["id"]
    method = None
    while method not in ("turn/completed", "turn/failed", "turn/cancelled"):
        event = gateway.notification()
        method, params = event["method"], event["params"]
        if params.get("turn_id") != turn:
            method = None  # of another turn
        elif method == "turn/delta":
            print(params["text"], end="", flush=True)
        elif method == "turn/tool_started":
            print(f"[{params['tool']}]", file=sys.stderr)
        elif method == "turn/approval_requested":
            call = gateway.call("turn/get", **here, turn_id=turn)["approvals"][0]
            print(f"{call['tool']} wants to do this:\n{call.get('diff') or call['arguments']}", file=sys.stderr)
            decision = {"call_id": call["call_id"], "digest": call["digest"], "allow": sys.stdin.readline() == "yes\n"}
            gateway.call("turn/approve", **here, turn_id=turn, **decision)
    print(flush=True)
    explanation = gateway.call("turn/explain", **here, turn_id=turn)["explanation"]
    for file in explanation["files"]:
        print(f"had {file['path']} ({file['delivery']})", file=sys.stderr)
    if error := explanation["turn"].get("error"):
        sys.exit(f"no answer: {error['message']}")


if __name__ == "__main__":
    name, question = sys.argv[1:]
    home = os.environ.get("FOREWORD_DATA") or pathlib.Path.home() / ".local/share/foreword"
    token = pathlib.Path(home, "owner.token").read_text().strip()
    gateway = Gateway(json.loads(pathlib.Path(home, "gateway.json").read_text())["url"], token)
    found = [it["id"] for it in gateway.call("workspace/list")["workspaces"] if it["name"] == name]
    ask(gateway, found[0], question) if found else sys.exit(f"there is no workspace {name}")
