//! The server: what a client can ask for, and who does it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, JsonObject, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    ToolAnnotations, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::Mutex;
use zonekeep::approve::Notifier;
use zonekeep::policy::tool_name;
use zonekeep::{Error, StateDir, tools};

use super::call::{Came, Repeated, cancelled};
use super::desk::Desk;
use super::news::News;
use super::question::Sealed;
use super::resource;
use super::rules::Rules;
use super::say::say;
use crate::failure::hint_for;

/// What every client's model reads about the server. Directories are not named:
/// they can change, and `list_files` shows them.
const INSTRUCTIONS: &str = "\
Files and commands inside a sandbox. Call list_files with path \"/\" to see the directories that \
exist; all paths start there, in every tool and in commands. What is refused is refused with the \
reason and with what is allowed: do not try to get around it, use what is allowed or tell the \
user. Some actions wait for the user's approval.";

/// The most resources that one client may listen for.
const MAX_LISTENED: usize = 128;

/// Who is asked where the rules want consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// The client, or whoever is attached where it cannot ask.
    Client,
    /// Whoever is attached.
    Socket,
    /// The approver of the session, which answers by itself.
    Itself,
}

/// The server behind every connection.
#[derive(Clone)]
pub(super) struct Server {
    inner: Arc<Inner>,
    /// A client is asked one thing at a time.
    one_question: Arc<Mutex<()>>,
}

struct Inner {
    rules: Arc<Rules>,
    state: StateDir,
    desk: Arc<Desk>,
    news: Arc<News>,
    sealed: Sealed,
    asking: Asking,
    within: Duration,
    notifier: Option<Arc<Notifier>>,
    one_reader: Mutex<()>,
}

impl Server {
    pub(super) fn new(
        rules: Arc<Rules>,
        state: StateDir,
        desk: Arc<Desk>,
        news: Arc<News>,
        asking: Asking,
        within: Duration,
        notifier: Option<Arc<Notifier>>,
    ) -> anyhow::Result<Self> {
        let sealed = Sealed::new()?;
        let one_reader = Mutex::new(());
        let inner =
            Inner { rules, state, desk, news, sealed, asking, within, notifier, one_reader };
        Ok(Server { inner: Arc::new(inner), one_question: Arc::default() })
    }

    /// Returns the same server for another client.
    pub(super) fn for_another(&self) -> Self {
        Server { inner: Arc::clone(&self.inner), one_question: Arc::default() }
    }

    pub(super) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.inner.rules)
    }

    pub(super) fn state(&self) -> &StateDir {
        &self.inner.state
    }

    pub(super) fn desk(&self) -> &Desk {
        &self.inner.desk
    }

    pub(super) fn news(&self) -> &Arc<News> {
        &self.inner.news
    }

    pub(super) fn sealed(&self) -> &Sealed {
        &self.inner.sealed
    }

    pub(super) fn within(&self) -> Duration {
        self.inner.within
    }

    /// Announces a question.
    pub(super) fn notify(&self) {
        if let Some(notifier) = &self.inner.notifier {
            notifier.notify();
        }
    }

    /// Returns what whoever reads the records holds.
    pub(super) fn one_reader(&self) -> &Mutex<()> {
        &self.inner.one_reader
    }

    pub(super) fn one_question(&self) -> &Mutex<()> {
        &self.one_question
    }

    /// Returns whether questions are put by this server rather than by the session.
    pub(super) fn asks_client(&self) -> bool {
        self.inner.asking != Asking::Itself
    }

    pub(super) fn prefers_socket(&self) -> bool {
        self.inner.asking == Asking::Socket
    }
}

/// Returns a tool as clients list it.
fn listed(tool: &tools::Tool) -> Tool {
    let object = |value: Value| match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    };
    let hints = tool.hints;
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    let mut listed = Tool::new(tool.name, tool.description, object(tool.schema()));
    listed.title = Some(tool.title.to_owned());
    listed.output_schema = Some(Arc::new(object(tool.output_schema())));
    listed.annotations = Some(annotations);
    listed
}

/// Returns what a tool came to, as the client gets it.
fn result(done: Result<tools::Output, Error>, news: Option<&str>) -> CallToolResult {
    let mut result = match done {
        Ok(output) => {
            let mut content = vec![ContentBlock::text(output.text)];
            if let Some(image) = output.image {
                content.push(ContentBlock::image(BASE64.encode(image.bytes), image.mime));
            }
            let mut result = CallToolResult::success(content);
            result.structured_content = Some(output.value);
            result
        }
        Err(error) => {
            if let Some(detail) = error.detail() {
                say(detail);
            }
            if let Some(remedy) = error.remedy() {
                say(&format!("hint: {}", hint_for(remedy)));
            }
            // There are clients that hold errors to the schema of results too, so
            // the value for programs is not structured content.
            let mut value = tools::error_value(&error);
            let meta = [("zonekeep/error".to_owned(), value["error"].take())];
            let text = vec![ContentBlock::text(error.to_string())];
            CallToolResult::error(text).with_meta(Some(MetaObject(meta.into_iter().collect())))
        }
    };
    result.content.extend(news.map(ContentBlock::text));
    result
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        let program =
            Implementation::new("zonekeep", env!("CARGO_PKG_VERSION")).with_title("Zonekeep");
        ServerConfig::new(capabilities).with_server_info(program).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let Some(_turn) = self.desk().turn(false).await else { return Err(cancelled()) };
        let rules = self.rules();
        let names = tokio::task::spawn_blocking(move || {
            rules.look();
            rules.tools()
        });
        let names =
            names.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let tools = tools::all().iter().filter(|tool| names.contains(&tool.name));
        Ok(ListToolsResult::with_all_items(tools.map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = request;
        let arguments = Value::Object(arguments.unwrap_or_default());
        let is_command = tool_name::canonical(&name) == Some("shell");
        let what =
            [b"tools/call\0", name.as_bytes(), b"\0", arguments.to_string().as_bytes()].concat();
        let repeated = Repeated { state: request_state, responses: input_responses };
        let work =
            move |sandbox: &zonekeep::Sandbox| tools::call(sandbox, &name, arguments.clone());
        let came = self.call(&context, &what, repeated, is_command, work).await?;
        Ok(match came {
            Came::To(done) => result(done, self.rules().news()).into(),
            Came::Ask(asked) => (*asked).into(),
        })
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resource::list(self, request.and_then(|request| request.cursor), &context).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resource::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resource::read(self, request, &context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let rules = self.rules();
        let watching = tokio::task::spawn_blocking(move || resource::watch(&rules, &request.uri));
        let watched =
            watching.await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        self.news().subscribe(&context.peer, watched?)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.news().unsubscribe(&context.peer, &request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = asked.clone();
        accepted.prompts_list_changed = None;
        accepted.resources_list_changed = None;
        // The first look is taken before the client hears that it may count on news.
        if let Some(uris) = &mut accepted.resource_subscriptions {
            let rules = self.rules();
            uris.truncate(MAX_LISTENED);
            uris.retain(|uri| {
                resource::watch(&rules, uri).is_ok_and(|watched| self.news().begin(watched))
            });
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.news().listen(&context, self.desk().over()).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.news().greet(&context.peer);
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // What is known and did not fit its type lands here too.
        Err(match is_known(&request.method, is_modern(&context)) {
            true => ErrorData::invalid_params(
                format!("the parameters of {} are not as they should be", request.method),
                None,
            ),
            false => ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                Cow::Owned(format!(
                    "there is no method {}",
                    zonekeep::approve::visible(&request.method)
                )),
                None,
            ),
        })
    }
}

/// Returns whether a client talks as since the revision of 2026-07-28.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn is_known(method: &str, modern: bool) -> bool {
    let both = [
        "tools/call",
        "tools/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
    ];
    let of_era: &[&str] = match modern {
        true => &["server/discover", "subscriptions/listen"],
        false => &["initialize", "ping", "resources/subscribe", "resources/unsubscribe"],
    };
    both.contains(&method) || of_era.contains(&method)
}
