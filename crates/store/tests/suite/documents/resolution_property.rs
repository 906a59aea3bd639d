//! Resolution against a trivial model.
//!
//! Random steps create, move, rename and delete folders, threads and documents in the store and in the model. Then each
//! folder and thread, existing or deleted, must resolve to what the model finds by walking up.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use protocol::method::WorkspaceCreateParams;
use protocol::{FolderId, ResolvedDocument, ThreadId, Version, WorkspaceId};
use store::{Scope, Store, StoreError};

use crate::fixture::{Engine, in_time, new_thread, with_runtime};
use crate::params::{older, text};

/// One change.
// An [`Index`] picks among the existing objects; picks of folders include the root where that is valid.
#[derive(Debug, Clone)]
enum Step {
    CreateFolder { parent: Index },
    RenameFolder { folder: Index },
    MoveFolder { folder: Index, parent: Index },
    DeleteFolder { folder: Index },
    CreateThread { folder: Index },
    MoveThread { thread: Index, folder: Index },
    ArchiveThread { thread: Index },
    Save { scope: Index },
    SaveDraft { scope: Index },
    Archive { scope: Index },
    Restore { scope: Index, version: Index },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pick = any::<Index>;
    let step = prop_oneof![
        4 => pick().prop_map(|parent| Step::CreateFolder { parent }),
        1 => pick().prop_map(|folder| Step::RenameFolder { folder }),
        3 => (pick(), pick()).prop_map(|(folder, parent)| Step::MoveFolder { folder, parent }),
        2 => pick().prop_map(|folder| Step::DeleteFolder { folder }),
        2 => pick().prop_map(|folder| Step::CreateThread { folder }),
        2 => (pick(), pick()).prop_map(|(thread, folder)| Step::MoveThread { thread, folder }),
        1 => pick().prop_map(|thread| Step::ArchiveThread { thread }),
        5 => pick().prop_map(|scope| Step::Save { scope }),
        2 => pick().prop_map(|scope| Step::SaveDraft { scope }),
        2 => pick().prop_map(|scope| Step::Archive { scope }),
        1 => (pick(), pick()).prop_map(|(scope, version)| Step::Restore { scope, version }),
    ];
    prop::collection::vec(step, 1..40)
}

/// A place of the model: a folder by its position, or the root.
type Place = Option<usize>;

#[derive(Default)]
struct Model {
    folders: Vec<ModelFolder>,
    threads: Vec<ModelThread>,
    /// Texts of scopes that have a document.
    documents: HashMap<Place, String>,
    /// Every text a scope ever had, in the order of its versions.
    history: HashMap<Place, Vec<String>>,
}

struct ModelFolder {
    id: FolderId,
    name: String,
    parent: Place,
    deleted: bool,
}

struct ModelThread {
    id: ThreadId,
    folder: Place,
    archived: bool,
}

/// Expected resolution.
#[derive(Debug, PartialEq)]
struct Answer {
    text: String,
    source_folder: Option<FolderId>,
    source_path: Vec<String>,
    inherited: bool,
    resolved_for: Option<FolderId>,
}

impl From<ResolvedDocument> for Answer {
    fn from(resolved: ResolvedDocument) -> Self {
        Self {
            text: resolved.doc.content,
            source_folder: resolved.source_folder_id,
            source_path: resolved.source_path,
            inherited: resolved.inherited,
            resolved_for: resolved.resolved_for_folder_id,
        }
    }
}

impl Model {
    fn id(&self, place: Place) -> Option<FolderId> {
        place.map(|folder| self.folders[folder].id.clone())
    }

    fn live_folders(&self) -> Vec<usize> {
        (0..self.folders.len()).filter(|folder| !self.folders[*folder].deleted).collect()
    }

    fn pick_folder(&self, index: &Index) -> Option<usize> {
        let folders = self.live_folders();
        (!folders.is_empty()).then(|| folders[index.index(folders.len())])
    }

    fn pick_place(&self, index: &Index) -> Place {
        let mut places: Vec<Place> = self.live_folders().into_iter().map(Some).collect();
        places.push(None);
        places[index.index(places.len())]
    }

    fn pick_thread(&self, index: &Index) -> Option<usize> {
        (!self.threads.is_empty()).then(|| index.index(self.threads.len()))
    }

    /// The place itself and every place above it, the root last.
    fn upwards(&self, place: Place) -> Vec<Place> {
        let mut places = vec![place];
        while let Some(Some(folder)) = places.last() {
            places.push(self.folders[*folder].parent);
        }
        places
    }

    fn put(&mut self, place: Place, text: String) {
        if self.documents.get(&place) != Some(&text) {
            self.history.entry(place).or_default().push(text.clone());
            self.documents.insert(place, text);
        }
    }

    fn archive(&mut self, place: Place) -> bool {
        let Some(text) = self.documents.remove(&place) else { return false };
        self.history.entry(place).or_default().push(text);
        true
    }

    fn delete(&mut self, folder: usize) {
        let parent = self.folders[folder].parent;
        self.archive(Some(folder));
        self.folders[folder].deleted = true;
        for child in self.folders.iter_mut().filter(|child| child.parent == Some(folder)) {
            child.parent = parent;
        }
        for thread in self.threads.iter_mut().filter(|thread| thread.folder == Some(folder)) {
            thread.folder = parent;
        }
    }

    fn resolve(&self, place: Place) -> Option<Answer> {
        let active = |place: &Place| self.documents.get(place).is_some_and(|text| !text.trim().is_empty());
        let source = self.upwards(place).into_iter().find(active)?;
        let mut path = self.upwards(source);
        path.reverse();
        Some(Answer {
            text: self.documents[&source].clone(),
            source_folder: self.id(source),
            source_path: path.into_iter().flatten().map(|folder| self.folders[folder].name.clone()).collect(),
            inherited: source != place,
            resolved_for: self.id(place),
        })
    }
}

/// A model and the workspace that it describes.
struct Pair<'a> {
    store: &'a Store,
    workspace: WorkspaceId,
    model: Model,
    /// Makes all texts and names different.
    counter: usize,
}

impl Pair<'_> {
    fn scope(&self, place: Place) -> Scope {
        Scope { workspace_id: self.workspace.clone(), folder_id: self.model.id(place) }
    }

    fn unique(&mut self, word: &str) -> String {
        self.counter += 1;
        format!("{word} {}", self.counter)
    }

    async fn save(&mut self, place: Place, content: String) -> Result<(), StoreError> {
        self.store.save_document(text(&self.scope(place), &content), None).await?;
        self.model.put(place, content);
        Ok(())
    }

    async fn step(&mut self, step: &Step) -> Result<(), StoreError> {
        match step {
            Step::CreateFolder { parent } => {
                let parent = self.model.pick_place(parent);
                let name = self.unique("folder");
                let parent_id = self.model.id(parent);
                let made = self.store.create_folder(&self.workspace, parent_id.as_ref(), &name, None).await?;
                self.model.folders.push(ModelFolder { id: made.id, name, parent, deleted: false });
            }
            Step::RenameFolder { folder } => {
                let Some(folder) = self.model.pick_folder(folder) else { return Ok(()) };
                let name = self.unique("renamed");
                let id = &self.model.folders[folder].id;
                self.store.rename_folder(&self.workspace, id, &name, None).await?;
                self.model.folders[folder].name = name;
            }
            Step::MoveFolder { folder, parent } => self.move_folder(folder, parent).await?,
            Step::DeleteFolder { folder } => {
                let Some(folder) = self.model.pick_folder(folder) else { return Ok(()) };
                let id = &self.model.folders[folder].id;
                self.store.delete_folder(&self.workspace, id, None).await?;
                self.model.delete(folder);
            }
            Step::CreateThread { folder } => {
                let folder = self.model.pick_place(folder);
                let new = new_thread(&self.workspace, self.model.id(folder).as_ref(), "thread");
                let id = self.store.create_thread(new, None).await?.id;
                self.model.threads.push(ModelThread { id, folder, archived: false });
            }
            Step::MoveThread { thread, folder } => {
                let Some(thread) = self.model.pick_thread(thread) else { return Ok(()) };
                let folder = self.model.pick_place(folder);
                let folder_id = self.model.id(folder);
                let thread = &mut self.model.threads[thread];
                let moved =
                    self.store.move_thread(&self.workspace, &thread.id, folder_id.as_ref(), None).await;
                match (thread.archived, moved) {
                    (false, Ok(_)) => thread.folder = folder,
                    (true, Err(StoreError::InvalidState(_))) => {}
                    (archived, moved) => panic!("archived: {archived}, moved: {moved:?}"),
                }
            }
            Step::ArchiveThread { thread } => {
                let Some(thread) = self.model.pick_thread(thread) else { return Ok(()) };
                self.store.archive_thread(&self.workspace, &self.model.threads[thread].id, None).await?;
                self.model.threads[thread].archived = true;
            }
            Step::Save { scope } => {
                let place = self.model.pick_place(scope);
                let content = self.unique("text");
                self.save(place, content).await?;
            }
            Step::SaveDraft { scope } => self.save(self.model.pick_place(scope), "\n".to_owned()).await?,
            Step::Archive { scope } => {
                let place = self.model.pick_place(scope);
                let archived = self.store.archive_document(&self.scope(place), None, None).await?;
                assert_eq!(archived, self.model.archive(place));
            }
            Step::Restore { scope, version } => self.restore(scope, version).await?,
        }
        Ok(())
    }

    async fn move_folder(&mut self, folder: &Index, parent: &Index) -> Result<(), StoreError> {
        let Some(folder) = self.model.pick_folder(folder) else { return Ok(()) };
        let parent = self.model.pick_place(parent);
        let below_itself = self.model.upwards(parent).contains(&Some(folder));
        let (id, parent_id) = (&self.model.folders[folder].id, self.model.id(parent));
        match self.store.move_folder(&self.workspace, id, parent_id.as_ref(), None).await {
            Ok(_) if !below_itself => self.model.folders[folder].parent = parent,
            Err(StoreError::InvalidState(_)) if below_itself => {}
            other => panic!("below itself: {below_itself}, moved: {other:?}"),
        }
        Ok(())
    }

    async fn restore(&mut self, scope: &Index, version: &Index) -> Result<(), StoreError> {
        let place = self.model.pick_place(scope);
        let Some(texts) = self.model.history.get(&place) else { return Ok(()) };
        let position = version.index(texts.len());
        let content = texts[position].clone();
        let version = Version(u64::try_from(position).unwrap() + 1);
        self.store.restore_document(older(&self.scope(place), version), None).await?;
        self.model.put(place, content);
        Ok(())
    }

    async fn check(&self) -> Result<(), StoreError> {
        let model = &self.model;
        for place in std::iter::once(None).chain((0..model.folders.len()).map(Some)) {
            let resolved = self.store.resolve_for_folder(&self.scope(place)).await;
            if place.is_some_and(|folder| model.folders[folder].deleted) {
                assert!(
                    matches!(
                        resolved,
                        Err(StoreError::NotFound { what: protocol::ErrorSubject::Folder, .. })
                    ),
                    "{resolved:?}"
                );
                continue;
            }
            assert_eq!(resolved?.map(Answer::from), model.resolve(place));
            let explicit = self.store.document(&self.scope(place)).await?.0.map(|document| document.content);
            assert_eq!(explicit.as_ref(), model.documents.get(&place));
        }
        for thread in &model.threads {
            let resolved = self.store.resolve_for_thread(&self.workspace, &thread.id).await?;
            assert_eq!(resolved.map(Answer::from), model.resolve(thread.folder));
        }
        Ok(())
    }
}

async fn compare(store: &Store, steps: &[Step]) -> Result<(), StoreError> {
    let name = format!("model {}", WorkspaceId::new());
    let new = WorkspaceCreateParams { name, ..WorkspaceCreateParams::default() };
    let workspace = store.create_workspace(new, None).await?.id;
    let mut pair = Pair { store, workspace, model: Model::default(), counter: 0 };
    for step in steps {
        pair.step(step).await?;
    }
    pair.check().await
}

fn every_resolution_is_the_models(engine: Engine, cases: u32) {
    with_runtime(engine, |given, runtime| {
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let compared = TestRunner::new(config).run(&steps(), |steps| {
            runtime
                .block_on(in_time("a case", compare(&given.store, &steps)))
                .map_err(|error| TestCaseError::fail(error.to_string()))
        });
        assert!(compared.is_ok(), "{}", compared.unwrap_err());
    });
}

mod every_folder_and_thread_resolves_as_in_the_model {
    use super::{Engine, every_resolution_is_the_models};

    #[test]
    fn sqlite() {
        every_resolution_is_the_models(Engine::Sqlite, 96);
    }

    #[test]
    fn postgres() {
        every_resolution_is_the_models(Engine::Postgres, 32);
    }
}
