//! What a model can call in a round: asked of the sources anew each time.

use std::sync::Arc;

use protocol::ToolSpec;
use tools::{RoundContext, Router, ToolContext, ToolSource, Toolbox};

/// The tools of the present round.
pub(crate) struct RoundTools {
    sources: Vec<Arc<dyn ToolSource>>,
    context: ToolContext,
    toolbox: Toolbox,
    router: Router,
}

impl RoundTools {
    /// The tools of a turn before its first round: none.
    pub(crate) fn new(sources: Vec<Arc<dyn ToolSource>>, context: ToolContext) -> Self {
        let toolbox = Toolbox::new();
        let router = Router::all(&toolbox, context.clone());
        Self { sources, context, toolbox, router }
    }

    /// Asks the sources what they offer in this round; true when that is something else than before.
    pub(crate) async fn refresh(&mut self, round: &RoundContext) -> bool {
        let mut toolbox = Toolbox::new();
        for source in &self.sources {
            for refused in toolbox.extend(source.offer(round).await) {
                tracing::warn!(error = %refused, turn = %round.turn_id, "a tool is left out");
            }
        }
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

    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        self.toolbox.specs().cloned().collect()
    }
}
