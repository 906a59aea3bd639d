//! `foreword mcp`: an MCP server on standard input and output, for agents without command hooks and other clients.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use instructions::path::normalise;
use instructions::{FileSettings, Request, Resolution, UnsafeText, survey, survey_for};
use mcp_server::{
    Address, CompareAsked, DocumentAddress, PlaceAsked, Refusal, SaveAsked, Saving, Server, ServerSettings,
    Session, Source, Toolbox, WhyAsked, serve,
};
use protocol::method::{
    DocumentGet, DocumentGetResult, DocumentSave, DocumentSaveParams, DocumentSaveResult,
    DocumentScopeParams, Initialize, InitializeParams, Program,
};
use protocol::{Comparison, WhyReport};
use tokio::runtime::Handle;

use crate::arguments::{InScope, InWorkspace, Mcp};
use crate::command::transcripts;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};

/// Polling interval of subscribed resources.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of resources a client can subscribe to.
const MAX_FOLLOWED: usize = 64;
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) async fn run(context: Context, arguments: &Mcp) -> Result<Exit, Failure> {
    // A user who runs this on a terminal probably expects something else than silence.
    if std::io::stdin().is_terminal() {
        context.output.note(
            "serving MCP on standard input and output; see `foreword mcp status` for the servers that turns use",
        );
    }
    let toolbox = Toolbox(Local {
        settings: FileSettings { unsafe_text: DELIVERED, ..Files::new(&context)?.settings },
        context,
        here: directory(None)?,
        saving: if arguments.allow_save { Saving::Allowed } else { Saving::Refused },
        runtime: Handle::current(),
    });
    let settings = ServerSettings { version: VERSION, look_every: LOOK_EVERY, working: Vec::new() };
    let server = Server::new(toolbox, Arc::new(Session::new(MAX_FOLLOWED)), settings);
    let input = tokio::io::BufReader::new(tokio::io::stdin());
    match serve(server, input, tokio::io::stdout()).await {
        Ok(()) => Ok(Exit::Done),
        // A client that disconnects has ended the session, which is not a failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(Failure::caused_by(Exit::Failed, "could not serve", error)),
    }
}

/// The client's model gets the text from us, whichever agent's rules select it and whoever selects the agent.
const DELIVERED: Option<UnsafeText> = Some(UnsafeText::MadeHarmless);

/// Files of this machine, and documents of the gateway that other commands use.
struct Local {
    context: Context,
    settings: FileSettings,
    here: PathBuf,
    saving: Saving,
    runtime: Handle,
}

impl Local {
    /// Returns the named directory, or the directory of a named file, even if the file does not exist yet.
    fn directory(&self, path: Option<&Path>) -> PathBuf {
        let Some(path) = path else { return self.here.clone() };
        let path = normalise(path, &self.here);
        // A file about to be created belongs to its nearest existing directory.
        path.ancestors().find(|above| above.is_dir()).map_or_else(|| path.clone(), Path::to_owned)
    }

    /// Returns the named file if it exists. A missing path may become a directory instead.
    fn file(&self, path: Option<&Path>, directory: &Path) -> Option<PathBuf> {
        let path = normalise(path?, &self.here);
        (path != directory).then_some(path)
    }

    async fn get(&self, document: &DocumentAddress) -> Result<DocumentGetResult, Failure> {
        let client = self.context.connect().await?;
        let (workspace_id, folder_id) = self.context.scope(&client, &scope(document)).await?;
        Ok(client.call::<DocumentGet>(&DocumentScopeParams { workspace_id, folder_id }).await?)
    }

    async fn put(&self, client_name: &str, save: SaveAsked) -> Result<DocumentSaveResult, Failure> {
        let client = self.context.connect().await?;
        // The MCP client introduces itself under its own name, so that the gateway can attribute the save to it.
        let program = Program { name: client_name.to_owned(), version: VERSION.to_owned() };
        client.call::<Initialize>(&InitializeParams { client: Some(program) }).await?;
        let (workspace_id, folder_id) = self.context.scope(&client, &scope(&save.document)).await?;
        let params = DocumentSaveParams {
            workspace_id,
            folder_id,
            content: save.content,
            expected_version: Some(save.expected_version),
            save_reason: None,
            message: save.message,
        };
        Ok(client.call::<DocumentSave>(&params).await?)
    }
}

impl Source for Local {
    fn saving(&self) -> Saving {
        self.saving
    }

    fn about_paths(&self) -> &'static str {
        "Directory, or a file in it; defaults to the server's directory"
    }

    fn has_workspaces(&self) -> bool {
        false
    }

    fn reads_transcripts(&self) -> bool {
        true
    }

    fn why(&self, asked: &WhyAsked) -> Result<WhyReport, Refusal> {
        let cwd = self.directory(asked.path.as_deref());
        transcripts::why::answer(&self.settings, &cwd, asked).map_err(described)
    }

    fn resolve(&self, place: &PlaceAsked) -> Result<Resolution, Refusal> {
        let cwd = self.directory(place.path.as_deref());
        // A client may ask about another agent than the configured one, and that agent has settings files of its
        // own.
        let asked = place.profile.map(|profile| FileSettings {
            unsafe_text: DELIVERED,
            ..compare::settings_for(profile, &self.settings)
        });
        let settings = asked.as_ref().unwrap_or(&self.settings);
        let request = Request { cwd: &cwd, settings };
        let file = self.file(place.path.as_deref(), &cwd);
        let found = match &file {
            Some(file) => survey_for(&request, file),
            None => survey(&request),
        };
        found.map_err(|error| Refusal::new(error.to_string()))
    }

    fn compare(&self, asked: &CompareAsked) -> Result<Comparison, Refusal> {
        let cwd = self.directory(asked.path.as_deref());
        let reading = asked.reading.as_deref().map(|file| normalise(file, &cwd));
        let request = compare::CompareRequest {
            cwd: &cwd,
            reading: reading.as_deref(),
            agents: &asked.agents,
            settings: &self.settings,
        };
        let compared = compare::compare(&request).map_err(|error| Refusal::new(error.to_string()))?;
        Ok(compared.comparison)
    }

    fn document(&self, document: &DocumentAddress) -> Result<DocumentGetResult, Refusal> {
        self.runtime.block_on(self.get(document)).map_err(described)
    }

    fn save(&self, client_name: &str, save: SaveAsked) -> Result<DocumentSaveResult, Refusal> {
        self.runtime.block_on(self.put(client_name, save)).map_err(described)
    }

    fn addresses(&self) -> Vec<Address> {
        vec![Address::Effective(self.here.clone())]
    }
}

fn scope(document: &DocumentAddress) -> InScope {
    let DocumentAddress { workspace, folder } = document.clone();
    InScope { folder, workspace: InWorkspace { workspace } }
}

/// Formats a failure and its hints for a model.
fn described(failure: Failure) -> Refusal {
    // A model has no command-line flags, so name the equivalent tool.
    let for_models = |hint: &String| match hint.contains("--expected-version") {
        true => "call `document_get`, and save with the version that it returns".to_owned(),
        false => hint.clone(),
    };
    let hints = failure.hints.iter().map(for_models).map(|hint| format!("\nhint: {hint}"));
    Refusal::new(format!("{}{}", failure.message, hints.collect::<String>()))
}
