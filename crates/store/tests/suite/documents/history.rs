//! A scope's revisions.

use protocol::{ContentHash, Version};

both_databases!(a_history_is_newest_first_in_pages, async |given| {
    let root = given.root();
    for version in 1..=5 {
        given.save(&root, &format!("text {version}")).await;
    }
    let page = async |limit, before: Option<u64>| {
        let revisions = given.store.history(&root, limit, before.map(Version)).await.unwrap();
        revisions.into_iter().map(|revision| revision.version.0).collect::<Vec<_>>()
    };
    assert_eq!(page(2, None).await, [5, 4]);
    assert_eq!(page(2, Some(4)).await, [3, 2]);
    assert_eq!(page(2, Some(2)).await, [1]);
    assert_eq!(page(2, Some(1)).await, [0; 0]);
    assert_eq!(page(500, Some(u64::MAX)).await, [5, 4, 3, 2, 1]);
});

both_databases!(a_summary_describes_its_text, async |given| {
    let saved = given.save(&given.root(), "h\u{e9}").await;
    let summary = given.history(&given.root()).await.remove(0);
    assert_eq!(summary.content_sha256, ContentHash::of("h\u{e9}"));
    assert_eq!((summary.char_count, summary.saved_at), (2, saved.updated_at));
});

both_databases!(a_revision_has_the_text_of_its_time, async |given| {
    given.save(&given.root(), "old").await;
    given.save(&given.root(), "new").await;
    let revision = given.store.revision(&given.root(), Version(1)).await.unwrap();
    assert_eq!((revision.summary.version.0, revision.content.as_str()), (1, "old"));
    assert_eq!((revision.summary.char_count, revision.summary.content_sha256), (3, ContentHash::of("old")));
});

both_databases!(a_scope_without_a_document_has_an_empty_history, async |given| {
    let folder = given.folder(None, "folder").await;
    given.save(&given.root(), "not the folder's").await;
    assert_eq!(given.history(&given.scope(&folder)).await, []);
});
