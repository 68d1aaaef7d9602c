// A server of HTTP/2: node http2.mjs DIRECTORY LOG
import fs from 'node:fs';
import http2 from 'node:http2';

const [dir, log] = process.argv.slice(2);
const keys = {
  cert: fs.readFileSync(`${dir}/server.pem`),
  key: fs.readFileSync(`${dir}/server.key`),
  allowHTTP1: true,
};

function serve(server, port) {
  const seen = (stream, values) => {
    const from = (stream.remoteAddress ?? '').replace('::ffff:', '');
    const side = { '192.0.2.2': 'host', '192.0.2.6': 'control' }[from] ?? from;
    const to = (stream.localAddress ?? '').replace('::ffff:', '');
    const line = { kind: 'http', at: 'beyond', from: side, to, port, ...values };
    fs.appendFileSync(log, JSON.stringify(line) + '\n');
  };
  server.on('request', (request, response) => {
    const host = request.headers[':authority'] ?? request.headers.host;
    seen(request.socket, {
      method: request.method,
      target: request.url,
      host,
      sni: request.socket.servername ?? null,
      version: request.httpVersion,
    });
    response.end(`hello from ${host} by HTTP/${request.httpVersion}\n`);
  });
  server.on('sessionError', () => {});
  server.on('clientError', (error, socket) => socket.destroy());
  server.listen(port, '::');
}

serve(http2.createSecureServer(keys), 4430);
serve(http2.createServer(), 8082);
