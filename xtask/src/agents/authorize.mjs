// Passes requests on to a gateway with its token, because the conformance suite cannot send one.
// Arguments: the gateway's address and the file with the token. Prints its own address, and ends when standard input closes.
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";

const [address, file] = process.argv.slice(2);
const gateway = new URL(address);
const authorization = `Bearer ${readFileSync(file, "utf8").trim()}`;
const server = createServer((incoming, answer) => {
  const { method, url: path, headers } = incoming;
  const options = { host: gateway.hostname, port: gateway.port, method, path, headers: { ...headers, authorization } };
  const outgoing = request(options, (received) => {
    answer.writeHead(received.statusCode, received.headers);
    received.pipe(answer);
  });
  outgoing.on("error", () => answer.destroy());
  incoming.pipe(outgoing);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
process.stdin.resume().on("end", () => process.exit(0));
