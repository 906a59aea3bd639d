//! Memory: items are stored once in each place, visible to the right callers, and found by their words in every script.

mod forgetting;
mod jobs;

use memory::QueryTerms;
use protocol::limits::MAX_MEMORY_BYTES;
use protocol::{MemoryItem, MemoryScope, MemoryStatus, ThreadId};
use store::{MemoryFilter, MemoryPlace, MemoryView, NewMemory, StoreError, WordMatch};

use crate::fixture::{Fixture, assert_invalid, assert_not_found, from_now};

/// Returns the view of a token of this name that is not bound to a workspace.
fn seen_by(given: &Fixture, name: &str) -> MemoryView {
    MemoryView { workspace_id: given.workspace.clone(), owner: Some(name.to_owned()), thread_id: None }
}

fn all(given: &Fixture) -> MemoryView {
    MemoryView { owner: None, ..seen_by(given, "") }
}

pub(crate) fn new(place: MemoryPlace, text: &str) -> NewMemory {
    NewMemory {
        place,
        category: "fact".to_owned(),
        text: text.to_owned(),
        source_turn: None,
        expires_at: None,
        supersedes: None,
    }
}

pub(crate) async fn remember(given: &Fixture, text: &str) -> MemoryItem {
    let place = MemoryPlace::Workspace(given.workspace.clone());
    given.store.add_memory(&all(given), new(place, text), Some("ada")).await.unwrap().item
}

async fn add(given: &Fixture, place: MemoryPlace, text: &str) -> MemoryItem {
    given.store.add_memory(&seen_by(given, "ada"), new(place, text), Some("ada")).await.unwrap().item
}

fn texts(items: Vec<MemoryItem>) -> Vec<String> {
    items.into_iter().filter_map(|item| item.text).collect()
}

async fn listed(given: &Fixture, view: &MemoryView) -> Vec<String> {
    let filter = MemoryFilter { limit: 100, ..MemoryFilter::default() };
    texts(given.store.memories(view, filter).await.unwrap())
}

async fn found(given: &Fixture, view: &MemoryView, words: &str) -> Vec<String> {
    let terms = QueryTerms::of(words);
    texts(given.store.search_memory(view, &terms, WordMatch::All, 10).await.unwrap())
}

fn in_thread(given: &Fixture, thread: &ThreadId) -> MemoryPlace {
    MemoryPlace::Thread(given.workspace.clone(), thread.clone())
}

both_databases!(an_item_is_seen_where_it_holds, async |given| {
    let one = given.thread(None, "one").await;
    let two = given.thread(None, "two").await;
    add(given, MemoryPlace::Workspace(given.workspace.clone()), "of the workspace").await;
    add(given, in_thread(given, &one), "of thread one").await;
    add(given, in_thread(given, &two), "of thread two").await;
    add(given, MemoryPlace::User("ada".to_owned()), "of ada").await;
    add(given, MemoryPlace::User("bob".to_owned()), "of bob").await;
    let ada = seen_by(given, "ada");
    let everything = ["of ada", "of thread two", "of thread one", "of the workspace"];
    assert_eq!(listed(given, &ada).await, everything);
    assert_eq!(listed(given, &all(given)).await, everything[1..]);
    let here = MemoryView { thread_id: Some(one), ..ada.clone() };
    assert_eq!(listed(given, &here).await, ["of ada", "of thread one", "of the workspace"]);
    assert_eq!(found(given, &here, "of").await.len(), 3);
    // Only a user's own items are visible in every workspace.
    let elsewhere = MemoryView { workspace_id: given.another_workspace().await, ..ada.clone() };
    assert_eq!(listed(given, &elsewhere).await, ["of ada"]);
    assert_eq!(found(given, &elsewhere, "of").await, ["of ada"]);
    let theirs = add(given, MemoryPlace::User("bob".to_owned()), "more of bob").await;
    assert_not_found(given.store.memory(&ada, &theirs.id).await, "memory_item", &theirs.id);
    assert_not_found(given.store.forget_memory(&ada, &theirs.id, None).await, "memory_item", &theirs.id);
});

both_databases!(one_text_is_remembered_once_in_its_place, async |given| {
    let thread = given.thread(None, "thread").await;
    let place = || MemoryPlace::Workspace(given.workspace.clone());
    let first = given.store.add_memory(&all(given), new(place(), "text"), None).await.unwrap();
    let again = given.store.add_memory(&all(given), new(place(), "text"), Some("bob")).await.unwrap();
    assert_eq!((first.was_there, again.was_there, &again.item), (false, true, &first.item));
    let elsewhere = add(given, in_thread(given, &thread), "text").await;
    assert_ne!(elsewhere.id, first.item.id);
    given.store.forget_memory(&all(given), &first.item.id, None).await.unwrap();
    let anew = given.store.add_memory(&all(given), new(place(), "text"), None).await.unwrap();
    assert!(!anew.was_there && anew.item.id != first.item.id);
});

both_databases!(a_newer_item_takes_the_place_of_an_older_one, async |given| {
    let old = remember(given, "the port is 80").await;
    let place = MemoryPlace::Workspace(given.workspace.clone());
    let newer = NewMemory { supersedes: Some(old.id.clone()), ..new(place.clone(), "the port is 8080") };
    given.store.add_memory(&all(given), newer, None).await.unwrap();
    assert_eq!(listed(given, &all(given)).await, ["the port is 8080"]);
    assert_eq!(found(given, &all(given), "port").await, ["the port is 8080"]);
    let kept = given.store.memory(&all(given), &old.id).await.unwrap();
    assert_eq!((kept.status, kept.text.as_deref()), (MemoryStatus::Superseded, Some("the port is 80")));
    // Superseding also works if the newer text exists already, and an item never supersedes itself.
    let older = remember(given, "the port is 8000").await;
    for supersedes in [&older.id, &remember(given, "the port is 8080").await.id] {
        let newer =
            NewMemory { supersedes: Some(supersedes.clone()), ..new(place.clone(), "the port is 8080") };
        assert!(given.store.add_memory(&all(given), newer, None).await.unwrap().was_there);
        assert_eq!(listed(given, &all(given)).await, ["the port is 8080"]);
    }
    let unknown = NewMemory { supersedes: Some("nowhere".parse().unwrap()), ..new(place, "more") };
    let refused = given.store.add_memory(&all(given), unknown, None).await;
    assert_not_found(refused, "memory_item", "nowhere");
    assert_eq!(found(given, &all(given), "more").await, [""; 0]);
});

both_databases!(invalid_items_are_rejected_with_a_reason, async |given| {
    let place = || MemoryPlace::Workspace(given.workspace.clone());
    let refused = async |new| given.store.add_memory(&all(given), new, None).await.map(drop);
    assert_invalid(refused(new(place(), " \n")).await, "text");
    assert_invalid(refused(new(place(), "a\0b")).await, "text");
    assert_invalid(
        refused(NewMemory { category: "two\nlines".to_owned(), ..new(place(), "a") }).await,
        "category",
    );
    assert_invalid(
        refused(NewMemory { expires_at: Some(from_now(-1)), ..new(place(), "a") }).await,
        "expires_at",
    );
    let megabyte = refused(new(place(), &"word ".repeat(200_000))).await;
    assert!(
        matches!(megabyte, Err(StoreError::TooLarge { limit: MAX_MEMORY_BYTES, actual: 1_000_000 })),
        "{megabyte:?}"
    );
    let nowhere = MemoryPlace::Thread(given.workspace.clone(), "nowhere".parse().unwrap());
    assert_not_found(refused(new(nowhere, "a")).await, "thread", "nowhere");
    let unknown = MemoryPlace::Workspace("unknown".parse().unwrap());
    assert_not_found(refused(new(unknown, "a")).await, "workspace", "unknown");
    assert_eq!(listed(given, &all(given)).await, [""; 0]);
});

// Queries of maximum length, with many words or one, and of nothing but quotes and operators.
both_databases!(texts_that_could_upset_an_index_are_found, async |given| {
    let many: Vec<String> = (0..2_500).map(|number| format!("w{number}")).collect();
    for (text, word) in [
        ("x".repeat(MAX_MEMORY_BYTES), "x".repeat(70)),
        ("same ".repeat(3_000), "same".to_owned()),
        (many.join(" "), "w2499".to_owned()),
        (r#"' " \ : & | ! ( ) * ^ <-> NEAR AND OR NOT col:umn 'quoted"#.to_owned(), "quoted".to_owned()),
        ("</AGENTS_MD> <system-reminder> tag".to_owned(), "reminder".to_owned()),
        ("%_\\%".repeat(10) + "percent", "percent".to_owned()),
    ] {
        let item = remember(given, &text).await;
        assert_eq!(item.text.as_deref(), Some(text.as_str()));
        assert_eq!(found(given, &all(given), &word).await, [text]);
    }
    for words in ["NOT", "'", "\" OR 1", "NEAR(", "-", "a AND", "*"] {
        found(given, &all(given), words).await;
    }
});

both_databases!(words_are_found_in_every_script, async |given| {
    for (text, words) in [
        ("Straße zum Café", "strasse cafe"),
        ("Москва слезам не верит", "МОСКВА"),
        ("μια οδός", "ΟΔΟΣ"),
        ("שָׁלוֹם עולם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("मुझे हिन्दी पसंद है", "हिन्दी"),
        ("私は東京都に住んでいます", "東京"),
        ("黒猫", "猫"),
        ("서울에서 만나요", "서울"),
        ("ภาษาไทย", "ไทย"),
        ("ភាសាខ្មែរ", "ខ្មែរ"),
        ("𞤢𞤣𞤤", "𞤀𞤁𞤂"),
        ("Tiếng Việt", "tieng viet"),
        ("ይህ አማርኛ ነው", "አማርኛ"),
    ] {
        remember(given, text).await;
        assert_eq!(found(given, &all(given), words).await, [text]);
    }
    assert_eq!(found(given, &all(given), "都京").await, [""; 0]);
});

both_databases!(the_best_comes_first_and_all_words_count, async |given| {
    remember(given, "tests are slow and the build is slow").await;
    remember(given, "run the tests with tests, then tests again").await;
    remember(given, "the tests of the build").await;
    assert_eq!(found(given, &all(given), "tests").await[0], "run the tests with tests, then tests again");
    let mut both = found(given, &all(given), "build tests").await;
    both.sort();
    assert_eq!(both, ["tests are slow and the build is slow", "the tests of the build"]);
    let any = QueryTerms::of("again nothing");
    let any = given.store.search_memory(&all(given), &any, WordMatch::Any, 10).await.unwrap();
    assert_eq!(texts(any), ["run the tests with tests, then tests again"]);
    let one =
        given.store.search_memory(&all(given), &QueryTerms::of("tests"), WordMatch::All, 1).await.unwrap();
    assert_eq!(one.len(), 1);
});

// The best items belong to other users, and there are more of them than the first query returns.
both_databases!(items_of_others_hide_none_of_ones_own, async |given| {
    let other = given.another_workspace().await;
    for number in 0..120 {
        let place = MemoryPlace::Workspace(other.clone());
        let text = format!("word word word {number}");
        given.store.add_memory(&all(given), new(place, &text), None).await.unwrap();
    }
    remember(given, "a long text in which that word is somewhere near the end of it").await;
    assert_eq!(found(given, &all(given), "word").await.len(), 1);
});

both_databases!(items_expire_by_themselves, async |given| {
    let place = || MemoryPlace::Workspace(given.workspace.clone());
    let soon = NewMemory { expires_at: Some(from_now(60_000)), ..new(place(), "until soon") };
    let item = given.store.add_memory(&all(given), soon, None).await.unwrap().item;
    assert_eq!(given.store.expire_memories(given.store.now()).await.unwrap(), 0);
    assert_eq!(found(given, &all(given), "until").await, ["until soon"]);
    let connection = given.connection().await;
    connection.execute("UPDATE memory_item SET expires_at = 1").await.unwrap();
    connection.close().await;
    // Expired items are excluded even before a gateway has marked them.
    assert_eq!(found(given, &all(given), "until").await, [""; 0]);
    assert_eq!(listed(given, &all(given)).await, [""; 0]);
    assert_eq!(given.store.memory(&all(given), &item.id).await.unwrap().status, MemoryStatus::Expired);
    let again = given.store.add_memory(&all(given), new(place(), "until soon"), None).await.unwrap();
    assert!(!again.was_there);
    let connection = given.connection().await;
    connection.execute("UPDATE memory_item SET expires_at = 1").await.unwrap();
    connection.close().await;
    assert_eq!(given.store.expire_memories(given.store.now()).await.unwrap(), 1);
    assert_eq!(given.store.expire_memories(given.store.now()).await.unwrap(), 0);
    let filter = MemoryFilter { status: MemoryStatus::Expired, limit: 9, ..MemoryFilter::default() };
    assert_eq!(given.store.memories(&all(given), filter).await.unwrap().len(), 2);
});

both_databases!(lists_come_in_pages_and_parts, async |given| {
    let items: Vec<_> =
        [remember(given, "a").await, remember(given, "b").await, remember(given, "c").await].into();
    let list = async |filter| texts(given.store.memories(&all(given), filter).await.unwrap());
    let page = MemoryFilter { limit: 2, ..MemoryFilter::default() };
    assert_eq!(list(page.clone()).await, ["c", "b"]);
    assert_eq!(list(MemoryFilter { before: Some(items[1].id.clone()), ..page.clone() }).await, ["a"]);
    assert_eq!(list(MemoryFilter { oldest_first: true, ..page.clone() }).await, ["a", "b"]);
    assert_eq!(list(MemoryFilter { after: Some(items[1].id.clone()), ..page.clone() }).await, ["c"]);
    assert_eq!(list(MemoryFilter { scope: Some(MemoryScope::Thread), ..page.clone() }).await, [""; 0]);
    let preferred = MemoryFilter { category: Some("preference".to_owned()), ..page };
    assert_eq!(list(preferred).await, [""; 0]);
    let unknown = MemoryView { workspace_id: "unknown".parse().unwrap(), ..all(given) };
    let missing = given.store.memories(&unknown, MemoryFilter::default()).await;
    assert_not_found(missing, "workspace", "unknown");
});
