//! Handlers of the protocol's methods.

mod audit;
mod console;
mod document;
mod events;
mod folder;
mod initialize;
mod instructions;
mod mcp;
mod memory;
mod prompt;
mod skill;
mod thread;
mod token;
mod transcript;
mod tree;
mod turn;
mod turn_page;
mod watching;
mod workspace;

use protocol::method;

pub(crate) use self::instructions::own_files;
use crate::router::Router;

/// Registers a handler for every method.
pub(crate) fn router() -> Router {
    Router::default()
        .on_reply::<method::Initialize, _>(initialize::initialize)
        .on::<method::ConsoleCode, _>(console::code)
        .on::<method::WorkspaceCreate, _>(workspace::create)
        .on::<method::WorkspaceUpdate, _>(workspace::update)
        .on::<method::WorkspaceArchive, _>(workspace::archive)
        .on::<method::WorkspaceRestore, _>(workspace::restore)
        .on::<method::WorkspaceGet, _>(workspace::get)
        .on::<method::WorkspaceList, _>(workspace::list)
        .on::<method::FolderCreate, _>(folder::create)
        .on::<method::FolderGet, _>(folder::get)
        .on::<method::FolderRename, _>(folder::rename)
        .on::<method::FolderMove, _>(folder::move_to)
        .on::<method::FolderDelete, _>(folder::delete)
        .on::<method::FolderDeleted, _>(folder::deleted)
        .on::<method::FolderRestore, _>(folder::restore)
        .on::<method::ThreadCreate, _>(thread::create)
        .on::<method::ThreadGet, _>(thread::get)
        .on::<method::ThreadRename, _>(thread::rename)
        .on::<method::ThreadMove, _>(thread::move_to)
        .on::<method::ThreadArchive, _>(thread::archive)
        .on_reply::<method::ThreadTree, _>(tree::tree)
        .on::<method::ThreadList, _>(tree::list)
        .on::<method::DocumentGet, _>(document::get)
        .on::<method::DocumentSave, _>(document::save)
        .on::<method::DocumentArchive, _>(document::archive)
        .on::<method::DocumentResolveForThread, _>(document::resolve_for_thread)
        .on::<method::DocumentResolveForFolder, _>(document::resolve_for_folder)
        .on::<method::DocumentHistory, _>(document::history)
        .on::<method::DocumentRevision, _>(document::revision)
        .on::<method::DocumentRestore, _>(document::restore)
        .on::<method::InstructionsCompare, _>(instructions::compare)
        .on::<method::PromptPreview, _>(prompt::preview)
        .on::<method::PromptDiff, _>(prompt::diff)
        .on::<method::PromptRebuild, _>(prompt::rebuild)
        .on::<method::TurnRequest, _>(prompt::request)
        .on::<method::TurnStart, _>(turn::start)
        .on::<method::TurnGet, _>(turn::get)
        .on_reply::<method::TurnWatch, _>(watching::watch)
        .on::<method::TurnList, _>(turn::list)
        .on::<method::TurnCancel, _>(turn::cancel)
        .on::<method::TurnApprove, _>(turn::approve)
        .on::<method::TurnManifest, _>(prompt::manifest)
        .on::<method::TurnExplain, _>(turn::explain)
        .on::<method::TranscriptWhy, _>(transcript::why)
        .on::<method::SessionGet, _>(turn::session)
        .on::<method::SessionResume, _>(turn::resume)
        .on::<method::SkillList, _>(skill::list)
        .on::<method::SkillGet, _>(skill::get)
        .on::<method::MemoryAdd, _>(memory::add)
        .on::<method::MemoryList, _>(memory::list)
        .on::<method::MemoryGet, _>(memory::get)
        .on::<method::MemorySearch, _>(memory::search)
        .on::<method::MemoryForget, _>(memory::forget)
        .on::<method::MemoryExport, _>(memory::export)
        .on::<method::MemoryImport, _>(memory::import)
        .on::<method::McpStatus, _>(mcp::status)
        .on_reply::<method::EventsSubscribe, _>(events::subscribe)
        .on::<method::EventsUnsubscribe, _>(events::unsubscribe)
        .on::<method::TokenCreate, _>(token::create)
        .on::<method::TokenList, _>(token::list)
        .on::<method::TokenRevoke, _>(token::revoke)
        .on::<method::AuditList, _>(audit::list)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn every_method_has_a_handler() {
        let documented: BTreeSet<&str> = protocol::method::METHODS.iter().map(|method| method.name).collect();
        let handled: BTreeSet<&str> = super::router().methods().collect();
        assert_eq!(documented, handled);
    }
}
