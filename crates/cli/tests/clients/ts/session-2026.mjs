// A session by the TypeScript SDK of the second line: revision 2026-07-28, where
// a question is a result and the answer comes with the repeated call.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { drive, outcome, program, say, serve, strangers, transport } from './steps.mjs';

const server = transport === 'http' ? await serve() : undefined;

async function connect({ elicit }) {
  const client = new Client(
    { name: 'typescript-2026', version: '1.0.0' },
    {
      capabilities: elicit ? { elicitation: {} } : {},
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  if (elicit) client.setRequestHandler('elicitation/create', ({ params }) => elicit(params));
  let stderr = '';
  let wire;
  if (server) {
    wire = new StreamableHTTPClientTransport(server.url, { requestInit: { headers: server.headers } });
  } else {
    wire = new StdioClientTransport({ command: program, args: ['mcp'], env: process.env, stderr: 'pipe' });
    wire.stderr.on('data', (data) => (stderr += data));
  }
  await client.connect(wire);
  const uncached = { cacheMode: 'bypass' };
  const listening = async (method, filter, changed) => {
    client.setNotificationHandler(method, changed);
    const stream = await client.listen(filter);
    return () => stream.close();
  };

  return {
    client,
    hello: () => ({
      protocol: client.getNegotiatedProtocolVersion(),
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    }),
    tools: async () => (await client.listTools({}, uncached)).tools,
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    resources: (cursor) => client.listResources({ cursor }, uncached),
    templates: async () => (await client.listResourceTemplates({}, uncached)).resourceTemplates,
    read: (uri) => client.readResource({ uri }, uncached),
    subscribe: (uri, changed) =>
      listening('notifications/resources/updated', { resourceSubscriptions: [uri] }, ({ params }) => changed(params.uri)),
    onToolsChanged: (changed) =>
      listening('notifications/tools/list_changed', { toolsListChanged: true }, () => changed()),
    stderr: () => server?.stderr() ?? stderr,
    close: () => client.close(),
  };
}

// Answers questions by hand, as somebody would who tampers with what the server seals.
async function byHand() {
  const { client, close } = await connect({ elicit: () => ({ action: 'cancel' }) });
  const call = (path, content, more) =>
    client.callTool(
      { name: 'write_file', arguments: { path, content }, ...more },
      { allowInputRequired: true },
    );
  const yes = { approve: { action: 'accept', content: { decision: 'once' } } };
  const tampered = (state) => {
    const at = Math.floor(state.length / 2);
    return state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1);
  };
  const plain = (promise) => promise.then(
    ({ resultType, inputRequests }) => resultType === 'input_required' ? { asked: Object.keys(inputRequests ?? {}) } : outcome(promise),
    () => outcome(promise),
  );

  const path = '/ask/by-hand.txt';
  const question = await call(path, 'by hand\n');
  const again = async () => (await call(path, 'by hand\n')).requestState;
  const { requestState } = question;
  say('question', { resultType: question.resultType, inputRequests: question.inputRequests, sealed: typeof requestState });
  const answers = {
    tampered: [path, 'by hand\n', { requestState: tampered(requestState), inputResponses: yes }],
    'another content': [path, 'something else\n', { requestState, inputResponses: yes }],
    'another path': ['/ask/other.txt', 'by hand\n', { requestState, inputResponses: yes }],
    'no state': [path, 'by hand\n', { inputResponses: yes }],
    'no answer': [path, 'by hand\n', { requestState }],
  };
  for (const [name, args] of Object.entries(answers)) {
    say(`state: ${name}`, await plain(call(...args)));
  }
  const other = { requestState: await again(), inputResponses: { other: yes.approve } };
  say('state: another question', await plain(call(path, 'by hand\n', other)));
  const answered = { requestState: await again(), inputResponses: yes };
  say('state: answered', await plain(call(path, 'by hand\n', answered)));
  say('state: used twice', await plain(call(path, 'by hand\n', answered)));
  await close();
}

if (server) await strangers(server);
await byHand();
await drive(connect);
if (server) say('server', await server.stop());
