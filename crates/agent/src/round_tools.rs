//! What a model can call in a round: asked of the sources anew each time.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode, RoundTool};
use protocol::{ContentHash, ToolCall, ToolSpec};
use tools::{Needs, RoundContext, Router, ToolContext, ToolSource, Toolbox};

use crate::task::blocking;

/// How long a source may take to say what it offers.
const OFFER_TIME: Duration = Duration::from_secs(5);

/// What the file tools need is known also where they are not offered.
static FILE_TOOLS: LazyLock<Toolbox> = LazyLock::new(Toolbox::files);

/// The tools of the present round.
pub(crate) struct RoundTools {
    sources: Vec<Source>,
    offer_time: Duration,
    context: ToolContext,
    toolbox: Toolbox,
    router: Router,
    diagnostics: Vec<PromptDiagnostic>,
}

struct Source {
    source: Arc<dyn ToolSource>,
    /// What it offered when it last answered in this turn.
    last: Toolbox,
}

impl RoundTools {
    /// The tools of a turn before its first round: none.
    pub(crate) fn new(sources: Vec<Arc<dyn ToolSource>>, context: ToolContext) -> Self {
        let toolbox = Toolbox::new();
        let router = Router::all(&toolbox, context.clone());
        let sources = sources.into_iter().map(|source| Source { source, last: Toolbox::new() }).collect();
        Self { sources, offer_time: OFFER_TIME, context, toolbox, router, diagnostics: Vec::new() }
    }

    /// Asks the sources, side by side, what they offer in this round; true when that is something else than before.
    /// One that fails counts as offering what it offered before.
    pub(crate) async fn refresh(&mut self, round: &RoundContext) -> bool {
        let offers = join_all(self.sources.iter().map(|source| source.offer(round, self.offer_time))).await;
        let mut toolbox = Toolbox::new();
        let mut problems = Vec::new();
        for (source, offered) in self.sources.iter_mut().zip(offers) {
            let name = source.source.name().to_owned();
            match offered {
                Ok(offered) => source.last = offered,
                Err(problem) => problems.push(format!("the source of tools `{name}` {problem}")),
            }
            let refused = toolbox.extend(source.last.clone());
            let left_out = |refused| format!("a tool of the source `{name}` is left out: {refused}");
            problems.extend(refused.iter().map(left_out));
        }
        for problem in &problems {
            tracing::warn!(turn = %round.turn_id, "{problem}");
        }
        let omitted = |problem| PromptDiagnostic::new(PromptDiagnosticCode::ToolsOmitted, problem);
        self.diagnostics = problems.into_iter().map(omitted).collect();
        let is_changed = !toolbox.is_same(&self.toolbox);
        if is_changed {
            self.router = Router::all(&toolbox, self.context.clone());
            self.toolbox = toolbox;
        }
        is_changed
    }

    pub(crate) fn router(&self) -> &Router {
        &self.router
    }

    /// Protects files that instruct the model, whatever they are called.
    pub(crate) async fn protect(&self, paths: Vec<PathBuf>) {
        let context = self.context.clone();
        blocking(move || context.protect(paths)).await;
    }

    /// What a call of this or an earlier turn needs; none where nobody knows. Tools for files are known everywhere.
    pub(crate) fn needs(&self, call: &ToolCall) -> Option<Needs> {
        self.toolbox.needs(call).or_else(|| FILE_TOOLS.needs(call))
    }

    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        self.toolbox.specs().cloned().collect()
    }

    /// What the round's manifest says about tools that are missing.
    pub(crate) fn diagnostics(&self) -> &[PromptDiagnostic] {
        &self.diagnostics
    }
}

/// The tools of a request, as a round's record has them.
pub(crate) fn shown_tools(specs: &[ToolSpec]) -> Vec<RoundTool> {
    let shown = specs.iter().map(|spec| {
        let described = serde_json::to_string(spec).unwrap_or_default();
        RoundTool { name: spec.name.clone(), sha256: ContentHash::of(described) }
    });
    shown.collect()
}

impl Source {
    async fn offer(&self, round: &RoundContext, within: Duration) -> Result<Toolbox, String> {
        let kept = if self.last.is_empty() { "its tools are left out" } else { "its last tools are kept" };
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
    use protocol::{ThreadId, ThreadMode, TurnId, WorkspaceId};

    use super::*;

    /// What a source does in rounds 1, 2 and so on.
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
        let tools = RoundTools::new(sources, ToolContext::without_directory());
        RoundTools { offer_time: Duration::from_millis(50), ..tools }
    }

    fn round(round: u32) -> RoundContext {
        RoundContext {
            workspace_id: WorkspaceId::new(),
            thread_id: ThreadId::new(),
            turn_id: TurnId::new(),
            mode: ThreadMode::Chat,
            root: None,
            directory: None,
            actor: None,
            round,
        }
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
        assert_eq!(said(&tools), ["the source of tools `test-1` panicked; its last tools are kept"]);
        assert!(!tools.refresh(&round(3)).await);
        let late = "the source of tools `test-1` did not answer within 50ms; its last tools are kept";
        assert_eq!(said(&tools), [late]);
        assert_eq!(tools.specs(), first);
    }

    #[tokio::test]
    async fn sources_that_fail_cost_no_other_and_taken_names_are_said() {
        let sources: &[&[Deed]] = &[&[Deed::Hangs], &[Deed::Panics], &[Deed::Offers], &[Deed::Offers]];
        let mut tools = tools(sources);
        assert!(tools.refresh(&round(1)).await);
        let files = Toolbox::files().specs().count();
        assert_eq!(tools.specs().len(), files);
        let said = said(&tools);
        assert!(said[0].starts_with("the source of tools `test-1` did not answer"), "{said:?}");
        assert_eq!(said[1], "the source of tools `test-2` panicked; its tools are left out");
        assert_eq!(
            said.iter().filter(|it| it.starts_with("a tool of the source `test-4` is left out: ")).count(),
            files
        );
    }
}
