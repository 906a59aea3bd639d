//! The tools of a round. The sources are asked again in every round.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use prompt::{
    HIDDEN_TOOL_DOMAINS, HiddenDomain, PromptManifest, SELECTED_SKILLS, SKILLS_RUNTIME, TASK_ORCHESTRATION,
};
use protocol::prompt::{
    HiddenTools, PromptDiagnostic, PromptDiagnosticCode, RoundNote, RoundRequest, RoundTool, ToolChoice,
};
use protocol::{ContentHash, ThreadMode, ToolCall, ToolSpec};
use store::TurnStart;
use tools::{
    Needs, REQUEST_TOOLS, RequestTools, RequestedTools, RoundContext, Router, ToolContext, ToolSource,
    Toolbox, ToolboxError,
};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::domains::delegation::DELEGATE;
use crate::domains::skills::READ_SKILL;
use crate::subject::PromptSubject;

/// Time a source has to answer.
const OFFER_TIME: Duration = Duration::from_secs(5);

/// Requirements of the file tools, known even if a turn does not offer them.
static FILE_TOOLS: LazyLock<Toolbox> = LazyLock::new(Toolbox::files);

/// The tools of the current round.
pub(crate) struct RoundTools {
    sources: Vec<Source>,
    /// Names of the tools a delegated turn may have; `None` allows all.
    pub(crate) allowed: Option<Arc<BTreeSet<String>>>,
    offer_time: Duration,
    context: ToolContext,
    toolbox: Toolbox,
    router: Router,
    diagnostics: Vec<PromptDiagnostic>,
    /// The tools of hidden domains, requested or not.
    hidden: Vec<(String, Toolbox)>,
    requested: RequestedTools,
    /// Tools the thread had requested before this turn.
    requested_before: Vec<String>,
    /// `request_tools` alone, identical in all rounds; empty until a domain is hidden.
    request_tools: Toolbox,
    /// Names of tools that the prompt of this turn does not explain.
    unexplained: BTreeSet<&'static str>,
}

/// Tools whose descriptions are not enough to use them, with the sections of which one must be in the prompt.
const EXPLAINED_TOOLS: [(&str, &[&str]); 3] = [
    (READ_SKILL, &[SKILLS_RUNTIME, SELECTED_SKILLS]),
    (DELEGATE, &[TASK_ORCHESTRATION]),
    (REQUEST_TOOLS, &[HIDDEN_TOOL_DOMAINS]),
];

struct Source {
    source: Arc<dyn ToolSource>,
    /// Tools of its last successful answer in this turn.
    last: Toolbox,
}

impl RoundTools {
    /// Creates the tools of a turn before its first round, still empty. `requested` are hidden tools that the thread
    /// has requested before.
    pub(crate) fn new(
        sources: Vec<Arc<dyn ToolSource>>,
        context: ToolContext,
        requested: Vec<String>,
    ) -> Self {
        let toolbox = Toolbox::new();
        let router = Router::all(&toolbox, context.clone());
        let sources = sources.into_iter().map(|source| Source { source, last: Toolbox::new() }).collect();
        let requested_before = requested.clone();
        let requested = RequestedTools::new(requested);
        Self {
            sources,
            allowed: None,
            offer_time: OFFER_TIME,
            context,
            toolbox,
            router,
            diagnostics: Vec::new(),
            hidden: Vec::new(),
            requested,
            requested_before,
            request_tools: Toolbox::new(),
            unexplained: BTreeSet::new(),
        }
    }

    /// Removes the tools that the prompt does not explain, for all rounds of the turn. A profile, a budget or a setting may have
    /// left out the explanation.
    pub(crate) fn leave_out_unexplained(&mut self, manifest: &PromptManifest) {
        let has_section = |id: &str| manifest.sections.iter().any(|section| section.id == id);
        let unexplained = EXPLAINED_TOOLS.iter().filter(|(name, sections)| {
            self.toolbox.specs().any(|spec| spec.name == *name) && !sections.iter().any(|id| has_section(id))
        });
        self.unexplained = unexplained.map(|(name, _)| *name).collect();
        if self.unexplained.is_empty() {
            return;
        }
        for name in &self.unexplained {
            // Without any skill in use there is nothing to explain, and nothing missing.
            if *name != READ_SKILL {
                let problem =
                    format!("`{name}` is left out: the section that explains it is not in the prompt");
                self.diagnostics.push(PromptDiagnostic::new(PromptDiagnosticCode::ToolsOmitted, problem));
            }
        }
        let unexplained = &self.unexplained;
        self.toolbox = self.toolbox.filtered(|spec| !unexplained.contains(spec.name.as_str()));
        self.router = Router::all(&self.toolbox, self.context.clone()).with_hidden(self.requested.clone());
    }

    /// Asks all sources concurrently for their tools; true if the list changed. A source that fails keeps its
    /// previous tools.
    pub(crate) async fn refresh(&mut self, round: &RoundContext) -> bool {
        // Concurrently, because each source has its own time limit and a slow one must not delay the rest.
        let offers = join_all(self.sources.iter().map(|source| source.offer(round, self.offer_time))).await;
        let mut problems = Vec::new();
        let mut toolbox = Toolbox::new();
        let mut hidden: Vec<(String, Toolbox)> = Vec::new();
        let mut refusals: Vec<(String, Option<String>)> = Vec::new();
        // All names in use, listed or hidden.
        let mut taken = Toolbox::new();
        for (source, offered) in self.sources.iter_mut().zip(offers) {
            let name = source.source.name().to_owned();
            match offered {
                Ok(offered) => source.last = offered,
                Err(problem) => problems.push(format!("tool source `{name}` {problem}")),
            }
            let mut refused = taken.extend(source.last.filtered(|spec| spec.name != REQUEST_TOOLS));
            // Reserve the name even if nothing is hidden, so that no source can impersonate it.
            if source.last.specs().any(|spec| spec.name == REQUEST_TOOLS) {
                refused.push(ToolboxError::Taken(REQUEST_TOOLS.to_owned()));
            }
            let left_out = |refused| format!("a tool of source `{name}` is left out: {refused}");
            problems.extend(refused.iter().map(left_out));
            let is_own = |spec: &ToolSpec| {
                let is_it =
                    |error: &ToolboxError| matches!(error, ToolboxError::Taken(name) if *name == spec.name);
                !refused.iter().any(is_it)
            };
            let own = source.last.filtered(is_own);
            problems.extend(source.source.problems(round));
            // A delegated turn with an explicit list gets all of it and has nothing to request.
            let Some(domain) = source.source.hidden_domain().filter(|_| self.allowed.is_none()) else {
                toolbox.extend(own.filtered(|spec| source.refusal(round, &spec.name).is_none()));
                continue;
            };
            refusals.extend(own.specs().map(|spec| (spec.name.clone(), source.refusal(round, &spec.name))));
            match hidden.iter_mut().find(|(known, _)| known == domain) {
                Some((_, tools)) => drop(tools.extend(own)),
                None => hidden.push((domain.to_owned(), own)),
            }
        }
        hidden.retain(|(_, tools)| !tools.is_empty());
        if !hidden.is_empty() {
            if self.request_tools.is_empty() {
                self.request_tools = RequestTools::toolbox(self.requested.clone());
            }
            toolbox.extend(self.request_tools.clone());
        }
        let is_chosen = |(domain, _): &&(String, Toolbox)| round.scope.tool_domains.contains(domain);
        let chosen = hidden.iter().filter(is_chosen).flat_map(|(_, tools)| tools.specs());
        let can_be_had =
            |name: &String| refusals.iter().any(|(tool, refusal)| tool == name && refusal.is_none());
        self.requested.choose(chosen.map(|spec| spec.name.clone()).filter(can_be_had));
        let visible: Vec<String> = toolbox.specs().map(|spec| spec.name.clone()).collect();
        for name in self.requested.names() {
            let refusal = refusals.iter().find(|(hidden, _)| *hidden == name).map(|(_, refusal)| refusal);
            match refusal {
                // Append requested tools at the end, so that the descriptions before them keep their place in the
                // cached prefix.
                Some(None) => {
                    for (_, tools) in &hidden {
                        toolbox.extend(tools.filtered(|spec| spec.name == name));
                    }
                }
                Some(Some(reason)) => {
                    problems.push(format!("the requested tool `{name}` is left out of this turn: {reason}"));
                }
                None if visible.contains(&name) => {}
                None => problems.push(format!("the requested tool `{name}` is no longer offered")),
            }
        }
        self.requested.set_offer(refusals, visible);
        self.hidden = hidden;
        for problem in &problems {
            tracing::warn!(turn = round.scope.turn_id.as_ref().map(tracing::field::display), "{problem}");
        }
        let omitted = |problem| PromptDiagnostic::new(PromptDiagnosticCode::ToolsOmitted, problem);
        self.diagnostics = problems.into_iter().map(omitted).collect();
        if let Some(allowed) = &self.allowed {
            toolbox = toolbox.filtered(|spec| allowed.contains(&spec.name));
        }
        if !self.unexplained.is_empty() {
            toolbox = toolbox.filtered(|spec| !self.unexplained.contains(spec.name.as_str()));
        }
        // An unchanged toolbox keeps the old router and the same descriptions, and so the provider's cached prefix.
        let is_changed = !toolbox.is_same(&self.toolbox);
        if is_changed {
            self.router = Router::all(&toolbox, self.context.clone()).with_hidden(self.requested.clone());
            self.toolbox = toolbox;
        }
        is_changed
    }

    pub(crate) fn router(&self) -> &Router {
        &self.router
    }

    /// Protects instruction files from commands, whatever their names.
    pub(crate) async fn protect(&self, paths: Vec<PathBuf>) {
        // Without a directory nothing can be written, so there is nothing to protect.
        if paths.is_empty() || !self.context.has_directory() {
            return;
        }
        let context = self.context.clone();
        blocking(move || context.protect(paths)).await;
    }

    /// Returns what a call of this or an earlier turn needs; `None` if its tool is unknown. The file tools are always
    /// known.
    pub(crate) fn needs(&self, call: &ToolCall) -> Option<Needs> {
        self.toolbox.needs(call).or_else(|| FILE_TOOLS.needs(call))
    }

    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        self.toolbox.specs().cloned().collect()
    }

    /// Returns the hidden domains to list in the prompt.
    pub(crate) fn hidden_domains(&self) -> Vec<HiddenDomain> {
        let described = |spec: &ToolSpec| (spec.name.clone(), spec.description.clone());
        let domains = self.hidden.iter();
        let domain = |(name, tools): &(String, Toolbox)| HiddenDomain {
            name: name.clone(),
            tools: tools.specs().map(described).collect(),
        };
        domains.map(domain).collect()
    }

    /// Returns the requested tools; `None` if the thread has requested nothing new.
    pub(crate) fn newly_requested(&self) -> Option<Vec<String>> {
        Some(self.requested.names()).filter(|names| *names != self.requested_before)
    }

    /// Returns the record of a round's request.
    pub(crate) fn round_request(
        &self,
        mode: ThreadMode,
        tool_choice: ToolChoice,
        notes: Vec<RoundNote>,
    ) -> RoundRequest {
        let is_listed = |name: &str| self.toolbox.specs().any(|spec| spec.name == name);
        let hidden = self.hidden.iter().map(|(domain, tools)| HiddenTools {
            domain: domain.clone(),
            tools: tools.specs().map(|spec| spec.name.clone()).filter(|name| !is_listed(name)).collect(),
        });
        let is_hidden = |name: &String| {
            self.hidden.iter().flat_map(|(_, tools)| tools.specs()).any(|spec| spec.name == *name)
        };
        let requested = self.requested.names().into_iter();
        RoundRequest {
            mode,
            tools: shown_tools(&self.specs()),
            tool_choice,
            notes,
            hidden_tools: hidden.filter(|hidden| !hidden.tools.is_empty()).collect(),
            requested_tools: requested.filter(|name| is_listed(name) && is_hidden(name)).collect(),
        }
    }

    /// Returns the diagnostics about missing tools for the round's manifest.
    pub(crate) fn diagnostics(&self) -> &[PromptDiagnostic] {
        &self.diagnostics
    }
}

/// Returns the tools of a request as a round's record stores them.
fn shown_tools(specs: &[ToolSpec]) -> Vec<RoundTool> {
    let shown = specs
        .iter()
        .map(|spec| RoundTool { name: spec.name.clone(), sha256: ContentHash::of(described(spec)) });
    shown.collect()
}

/// Returns a tool's description as it is stored.
pub(crate) fn described(spec: &ToolSpec) -> String {
    serde_json::to_string(spec).unwrap_or_default()
}

impl Agent {
    /// Collects the tools of a turn's first round.
    pub(crate) async fn first_tools(
        &self,
        subject: &PromptSubject,
        start: &TurnStart,
        context: ToolContext,
        delegation: Option<Arc<dyn ToolSource>>,
    ) -> RoundTools {
        let sources: Vec<_> = self.sources.iter().cloned().chain(delegation).collect();
        let hides_some = sources.iter().any(|source| source.hidden_domain().is_some());
        let requested = if hides_some { start.requested_tools.clone() } else { Vec::new() };
        let mut tools = RoundTools::new(sources, context, requested);
        tools.allowed.clone_from(&subject.limits.tools);
        tools.refresh(&RoundContext { scope: subject.scope_at(start), round: 1 }).await;
        tools
    }
}

impl Source {
    /// Returns the reason that this turn cannot have a tool. A tool whose source panics is refused as well.
    fn refusal(&self, round: &RoundContext, tool: &str) -> Option<String> {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.source.refusal(round, tool)))
            .unwrap_or_else(|_| Some("its source failed to decide about it".to_owned()))
    }

    async fn offer(&self, round: &RoundContext, within: Duration) -> Result<Toolbox, String> {
        let within = self.source.offer_time().unwrap_or(within);
        let kept = if self.last.is_empty() { "its tools are left out" } else { "its last tools are kept" };
        // The inner block also catches a panic in `offer` itself, before it returns a future.
        let offered = AssertUnwindSafe(async { self.source.offer(round).await }).catch_unwind();
        match tokio::time::timeout(within, offered).await {
            Ok(Ok(toolbox)) => Ok(toolbox),
            Ok(Err(_)) => Err(format!("panicked; {kept}")),
            Err(_) => Err(format!("did not answer within {within:?}; {kept}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;

    use super::*;

    /// Behavior of a source in rounds 1, 2 and so on.
    struct Does(String, &'static [Deed]);

    #[derive(Clone, Copy)]
    enum Deed {
        Offers,
        Panics,
        Hangs,
    }

    impl ToolSource for Does {
        fn name(&self) -> &str {
            &self.0
        }

        fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
            match self.1[round.round as usize - 1] {
                Deed::Offers => Box::pin(async { Toolbox::files() }),
                Deed::Panics => panic!("on purpose"),
                Deed::Hangs => Box::pin(std::future::pending()),
            }
        }
    }

    fn tools(sources: &[&'static [Deed]]) -> RoundTools {
        let sources = sources.iter().enumerate().map(|(index, deeds)| {
            Arc::new(Does(format!("test-{}", index + 1), deeds)) as Arc<dyn ToolSource>
        });
        let sources = sources.collect();
        let tools = RoundTools::new(sources, ToolContext::without_directory(), Vec::new());
        RoundTools { offer_time: Duration::from_millis(50), ..tools }
    }

    fn round(round: u32) -> RoundContext {
        RoundContext::of_chat(round)
    }

    fn said(tools: &RoundTools) -> Vec<&str> {
        tools.diagnostics().iter().map(|diagnostic| diagnostic.message.as_str()).collect()
    }

    #[tokio::test]
    async fn a_source_that_fails_later_keeps_its_last_tools() {
        let mut tools = tools(&[&[Deed::Offers, Deed::Panics, Deed::Hangs]]);
        assert!(tools.refresh(&round(1)).await);
        assert_eq!((tools.specs().len(), said(&tools).len()), (Toolbox::files().specs().count(), 0));
        let first = tools.specs();
        assert!(!tools.refresh(&round(2)).await);
        assert_eq!(said(&tools), ["tool source `test-1` panicked; its last tools are kept"]);
        assert!(!tools.refresh(&round(3)).await);
        let late = "tool source `test-1` did not answer within 50ms; its last tools are kept";
        assert_eq!(said(&tools), [late]);
        assert_eq!(tools.specs(), first);
    }

    #[tokio::test]
    async fn failing_sources_affect_no_others() {
        let sources: &[&[Deed]] = &[&[Deed::Hangs], &[Deed::Panics], &[Deed::Offers], &[Deed::Offers]];
        let mut tools = tools(sources);
        assert!(tools.refresh(&round(1)).await);
        let files = Toolbox::files().specs().count();
        assert_eq!(tools.specs().len(), files);
        let said = said(&tools);
        assert!(said[0].starts_with("tool source `test-1` did not answer"), "{said:?}");
        assert_eq!(said[1], "tool source `test-2` panicked; its tools are left out");
        assert_eq!(
            said.iter().filter(|it| it.starts_with("a tool of source `test-4` is left out: ")).count(),
            files
        );
    }
}
