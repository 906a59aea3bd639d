//! Folders with their documents and threads, as the store should have them.

use chance::Chance;
use client::Client;
use serde_json::{Value, json};

/// Index of a folder; `None` for the workspace's root.
type FolderNumber = Option<usize>;

struct SimulatedFolder {
    id: String,
    parent: FolderNumber,
    document: Option<u64>,
}

pub(crate) struct Documents {
    workspace: String,
    folders: Vec<SimulatedFolder>,
    root_document: Option<u64>,
    threads: Vec<(String, FolderNumber)>,
    /// A separate generator, because the model draws from the other one concurrently.
    random: Chance,
    next: u64,
}

impl Documents {
    pub(crate) async fn new(client: &Client, workspace: &str, seed: u64) -> anyhow::Result<Self> {
        let mut documents = Self {
            workspace: workspace.to_owned(),
            folders: Vec::new(),
            root_document: None,
            threads: Vec::new(),
            random: Chance::new(!seed),
            next: 0,
        };
        // One folder is within another, so that a thread can inherit a document over more than one level.
        for parent in [None, None, Some(0)] {
            let params = documents.with(json!({ "name": "folder" }), "parent_folder_id", parent);
            let id = id(&call(client, "thread/folder/create", &params).await?["folder"]);
            documents.folders.push(SimulatedFolder { id, parent, document: None });
        }
        Ok(documents)
    }

    pub(crate) async fn add_thread(
        &mut self,
        client: &Client,
        mode: &str,
        place: FolderNumber,
    ) -> anyhow::Result<()> {
        let params = self.with(json!({ "title": "thread", "mode": mode }), "folder_id", place);
        let thread = id(&call(client, "thread/create", &params).await?["thread"]);
        self.threads.push((thread, place));
        Ok(())
    }

    pub(crate) fn thread_id(&self, thread: usize) -> &str {
        &self.threads[thread].0
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Returns the document that is effective for a thread.
    pub(crate) fn effective(&self, thread: usize) -> Option<u64> {
        let mut place = self.threads[thread].1;
        while let Some(folder) = place {
            if let Some(document) = self.folders[folder].document {
                return Some(document);
            }
            place = self.folders[folder].parent;
        }
        self.root_document
    }

    /// Makes a random change and describes it.
    pub(crate) async fn change(&mut self, client: &Client) -> anyhow::Result<String> {
        let place = self.random.below(self.folders.len() + 1).checked_sub(1);
        let (method, mut params, what) = match self.random.below(8) {
            0..=3 => {
                self.next += 1;
                let number = self.next;
                *self.document(place) = Some(number);
                let what = format!("saved DOC-{number} in {place:?}");
                ("thread/agents_doc/save", json!({ "content": format!("DOC-{number}.\n") }), what)
            }
            4 => {
                *self.document(place) = None;
                ("thread/agents_doc/archive", json!({}), format!("archived the document in {place:?}"))
            }
            5..=6 => {
                let thread = self.random.below(self.threads.len());
                self.threads[thread].1 = place;
                let params = json!({ "thread_id": self.threads[thread].0 });
                ("thread/move", params, format!("moved thread {thread} to {place:?}"))
            }
            _ => {
                // Moves the last folder anywhere but into itself.
                let moved = self.folders.len() - 1;
                let parent = place.filter(|place| *place != moved);
                self.folders[moved].parent = parent;
                let params = json!({ "folder_id": self.folders[moved].id });
                let params = self.with(params, "parent_folder_id", parent);
                call(client, "thread/folder/move", &params).await?;
                return Ok(format!("moved folder {moved} to {parent:?}"));
            }
        };
        params = self.with(params, "folder_id", place);
        call(client, method, &params).await?;
        Ok(what)
    }

    fn document(&mut self, place: FolderNumber) -> &mut Option<u64> {
        match place {
            Some(folder) => &mut self.folders[folder].document,
            None => &mut self.root_document,
        }
    }

    fn with(&self, mut params: Value, name: &str, place: FolderNumber) -> Value {
        params["workspace_id"] = json!(self.workspace);
        if let Some(folder) = place {
            params[name] = json!(self.folders[folder].id);
        }
        params
    }
}

/// Calls a method that must succeed.
pub(crate) async fn call(client: &Client, method: &str, params: &Value) -> anyhow::Result<Value> {
    let answered = client.caller().call::<Value>(method, params).await;
    answered.map_err(|error| anyhow::anyhow!("{method} {params}: {error}"))
}

fn id(thing: &Value) -> String {
    thing["id"].as_str().unwrap_or_default().to_owned()
}
