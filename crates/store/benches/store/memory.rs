//! Memory searches against the bare full-text query.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use measure::{Comparison, Effort, Rounds, show_count};
use memory::QueryTerms;
use protocol::method::WorkspaceCreateParams;
use store::{Database, MemoryPlace, MemoryView, NewMemory, Store, WordMatch};

use crate::bare::{Bare, values};
use crate::databases::Databases;

/// Words per item.
const WORDS: u64 = 12;
/// Items per search result.
const LIMIT: u64 = 20;
/// Items added concurrently.
const AT_ONCE: usize = 64;

pub(crate) async fn measure(databases: &Databases, effort: Effort) -> anyhow::Result<()> {
    let fresh = databases.fresh("memory")?;
    let store = Store::open(&fresh.database).await?;
    let items = effort.choose(2_000, 100_000);
    let view = fill(&store, items).await?;
    let mut bare = Bare::connect(&fresh.database).await?;
    bare.script(&["ANALYZE".to_owned()]).await?;
    // Twenty words like those of a message: some common, most rare, some unknown.
    let message: Vec<String> = (1..=20).map(|number| format!("w{}", number * number * 7)).collect();
    for (kind, words, matching) in [
        ("a word that nothing has", "nosuchword", WordMatch::All),
        ("a rare word", "w300", WordMatch::All),
        ("a common word", "w3", WordMatch::All),
        ("two words", "w1 w40", WordMatch::All),
        ("any of twenty words", &message.join(" "), WordMatch::Any),
    ] {
        let terms = QueryTerms::of(words);
        let query = bare_query(&fresh.database, &terms, matching);
        let figures = Comparison::against("bare full-text query", async || {
            let sql = match &fresh.database {
                Database::Sqlite(_) => SQLITE,
                Database::Postgres(_) => POSTGRES,
            };
            std::hint::black_box(bare.select(sql, values![&query, LIMIT as i64], COLUMNS).await?);
            Ok(())
        })
        .with("Store::search_memory", async || {
            std::hint::black_box(store.search_memory(&view, &terms, matching, LIMIT).await?);
            Ok(())
        })
        .run(Rounds { warm_up: effort.choose(5, 50), measured: effort.choose(50, 500) })
        .await?;
        let name = databases.name();
        println!("## {name}: {kind} in {} items of memory\n\n{figures}", show_count(items));
    }
    store.close().await;
    Ok(())
}

const COLUMNS: &str = "tttttttnntn";
const SQLITE: &str = "SELECT m.id, m.scope, m.thread_id, m.category, m.text, m.source_turn, m.status, m.created_at,
        m.number, m.created_by, m.expires_at
    FROM (SELECT rowid AS number, rank FROM memory_term WHERE memory_term MATCH $1 ORDER BY rank LIMIT $2) found
    JOIN memory_item m ON m.number = found.number ORDER BY found.rank";
const POSTGRES: &str = "SELECT m.id, m.scope, m.thread_id, m.category, m.text, m.source_turn, m.status, m.created_at,
        m.number, m.created_by, m.expires_at
    FROM memory_item m WHERE m.terms @@ CAST($1 AS tsquery) ORDER BY ts_rank(m.terms, CAST($1 AS tsquery)) DESC LIMIT $2";

fn bare_query(database: &Database, terms: &QueryTerms, matching: WordMatch) -> String {
    let (quote, between) = match (database, matching) {
        (Database::Sqlite(_), WordMatch::Any) => ('"', " OR "),
        (Database::Sqlite(_), _) => ('"', " AND "),
        (Database::Postgres(_), WordMatch::Any) => ('\'', " | "),
        (Database::Postgres(_), _) => ('\'', " & "),
    };
    terms.iter().map(|term| format!("{quote}{term}{quote}")).collect::<Vec<_>>().join(between)
}

/// Adds items whose words have the uneven frequencies of a language.
async fn fill(store: &Store, items: u64) -> anyhow::Result<MemoryView> {
    let new = WorkspaceCreateParams { name: "memory".to_owned(), root_path: None, agents: None };
    let workspace_id = store.create_workspace(new, None).await?.id;
    let view = MemoryView { workspace_id: workspace_id.clone(), owner: None, thread_id: None };
    stream::iter(0..items)
        .map(|item| {
            let new = NewMemory {
                place: MemoryPlace::Workspace(workspace_id.clone()),
                category: "fact".to_owned(),
                text: text(item),
                source_turn: None,
                expires_at: None,
                supersedes: None,
            };
            store.add_memory(&view, new, None)
        })
        .buffer_unordered(AT_ONCE)
        .try_for_each(async |_| Ok(()))
        .await?;
    Ok(view)
}

fn text(item: u64) -> String {
    let words = (0..WORDS).map(|place| {
        // The low bits of such a product repeat soon; the high ones do not.
        let random = (item * WORDS + place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        // The reciprocal of a uniform distribution: half of all words are `w1`, and one in n * (n + 1) is `wn`.
        format!("w{}", (1_u64 << 32) / (random + 1))
    });
    format!("item {item}: {}", words.collect::<Vec<_>>().join(" "))
}
