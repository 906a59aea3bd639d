//! Query plans of SQLite: the work must grow with the results and not with the number of items.

use rusqlite::StatementStatus;

use super::sqlite::{ALL, BEST, NUMBERED};
use crate::connection::{DriverConnection, Tx};
use crate::migrations;

/// Items in one workspace.
// Every tenth has the word `tenth`, and one has `once`.
const ITEMS: i64 = 100_000;

fn database() -> rusqlite::Connection {
    let mut connection = rusqlite::Connection::open_in_memory().unwrap();
    // SQLite jobs never wait, so any runtime works.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut tx = Tx::new(DriverConnection::Sqlite(&mut connection), None);
        migrations::migrate(&mut tx).await.unwrap();
    });
    connection.execute_batch("PRAGMA foreign_keys = OFF; BEGIN").unwrap();
    for number in 1..=ITEMS {
        let item = "INSERT INTO memory_item (number, id, scope, workspace_id, category, text, text_sha256, status, created_at)
            VALUES (?1, ?2, 'workspace', 'w', 'fact', ?3, ?2, 'active', 1)";
        let mut terms = format!("every item{number}");
        if number % 10 == 0 {
            terms.push_str(" tenth");
        }
        if number == 7 {
            terms.push_str(" once");
        }
        connection.prepare_cached(item).unwrap().execute((number, number.to_string(), &terms)).unwrap();
        let index = "INSERT INTO memory_term (rowid, terms) VALUES (?1, ?2)";
        connection.prepare_cached(index).unwrap().execute((number, &terms)).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    connection
}

/// Returns the tables in the order in which a statement visits them.
fn plan(connection: &rusqlite::Connection, sql: &str) -> Vec<String> {
    let sql = format!("EXPLAIN QUERY PLAN {}", sql.replace('$', "?"));
    let mut statement = connection.prepare(&sql).unwrap();
    let count = statement.parameter_count();
    let values = vec![rusqlite::types::Null; count];
    let rows =
        statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
    let steps: Vec<String> = rows.map(Result::unwrap).collect();
    steps.into_iter().filter(|step| step.starts_with("SCAN") || step.starts_with("SEARCH")).collect()
}

/// Returns the number of results and of virtual machine steps for a query.
fn steps(connection: &rusqlite::Connection, sql: &str, query: &str) -> (usize, i32) {
    let mut statement = connection.prepare(&sql.replace('$', "?")).unwrap();
    let null: Option<&str> = None;
    let values = rusqlite::params![2, "w", null, null, query, 10];
    let found = statement.query_map(values, |row| row.get::<_, String>(0)).unwrap().count();
    (found, statement.get_status(StatementStatus::VmStep))
}

#[test]
fn the_index_of_words_is_asked_first_and_once() {
    let connection = database();
    for analysed in [false, true] {
        if analysed {
            connection.execute_batch("ANALYZE").unwrap();
        }
        let best = plan(&connection, BEST);
        assert!(best[0].starts_with("SCAN memory_term VIRTUAL TABLE"), "{best:?}");
        for (sql, first) in [(ALL, "SCAN memory_term VIRTUAL TABLE"), (NUMBERED, "SCAN found VIRTUAL TABLE")]
        {
            let plan = plan(&connection, sql);
            assert!(plan[0].starts_with(first), "{plan:?}");
            assert_eq!(plan[1..], ["SEARCH m USING INTEGER PRIMARY KEY (rowid=?)"], "{plan:?}");
        }
    }
}

#[test]
fn words_that_few_items_have_cost_little() {
    let connection = database();
    let twenty: Vec<String> = (0..20).map(|number| format!("\"absent{number}\"")).collect();
    let twenty = format!("{} OR \"once\"", twenty.join(" OR "));
    for (query, expected) in [("\"absent\"", 0), ("\"once\"", 1), (twenty.as_str(), 1)] {
        let (found, steps) = steps(&connection, ALL, query);
        assert_eq!(found, expected, "{query}");
        assert!(steps < 500, "{query}: {steps} steps for {ITEMS} items");
    }
    // A frequent word is visited row by row, which shows that the count above measures something.
    let (found, steps) = steps(&connection, ALL, "\"tenth\"");
    assert!(found == 10 && steps > 2_000, "{found} in {steps} steps");
}
