// A session by the TypeScript SDK of the first line: revisions up to 2025-11-25.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { drive, program, say, serve, strangers, transport } from './steps.mjs';

const server = transport === 'http' ? await serve() : undefined;

async function connect({ elicit }) {
  const capabilities = elicit ? { elicitation: {} } : {};
  const client = new Client({ name: 'typescript', version: '1.0.0' }, { capabilities });
  if (elicit) client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params));
  let stderr = '';
  let wire;
  if (server) {
    wire = new StreamableHTTPClientTransport(server.url, { requestInit: { headers: server.headers } });
  } else {
    wire = new StdioClientTransport({ command: program, args: ['mcp'], env: process.env, stderr: 'pipe' });
    wire.stderr.on('data', (data) => (stderr += data));
  }
  let protocol;
  const known = wire.setProtocolVersion?.bind(wire);
  wire.setProtocolVersion = (version) => {
    protocol = version;
    known?.(version);
  };
  await client.connect(wire);

  return {
    hello: () => ({
      protocol,
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    }),
    tools: async () => (await client.listTools()).tools,
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    resources: (cursor) => client.listResources({ cursor }),
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: (uri) => client.readResource({ uri }),
    subscribe: async (uri, changed) => {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => changed(params.uri));
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    onToolsChanged: async (changed) => {
      client.setNotificationHandler(ToolListChangedNotificationSchema, changed);
      return () => client.removeNotificationHandler('notifications/tools/list_changed');
    },
    stderr: () => server?.stderr() ?? stderr,
    close: async () => {
      if (server) await wire.terminateSession();
      await client.close();
    },
  };
}

if (server) await strangers(server);
await drive(connect);
if (server) say('server', await server.stop());
