//! Requests a second over one and over fifty connections, against the store alone.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use client::Client;
use futures_util::future::try_join_all;
use measure::{Comparison, Effort, Figures, Rounds, Table, show_count, show_ratio};
use store::{Database, Store};
use test_gateway::TestGateway;
use tokio::sync::Mutex;
use workload::DeepThread;

use crate::asker::{Asker, Way, Work, ask_together};
use crate::post::PostConnection;

const MANY: usize = 50;

const STORE_ONE: &str = "store, 1 caller";
const SOCKET_ONE: &str = "WebSocket, 1 connection";
const POST_ONE: &str = "HTTP POST, 1 connection";
const STORE_MANY: &str = "store, 50 callers";
const SOCKET_MANY: &str = "WebSocket, 50 connections";

/// Rows of a table, each with the store's row to compare it with.
const ROWS: [(&str, &str); 5] = [
    (STORE_ONE, STORE_ONE),
    (SOCKET_ONE, STORE_ONE),
    (POST_ONE, STORE_ONE),
    (STORE_MANY, STORE_MANY),
    (SOCKET_MANY, STORE_MANY),
];

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let setting = Setting::new().await?;
    for (work, method, requests) in [
        (Work::Resolve, "thread/agents_doc/resolve_for_thread", effort.choose(100, 1_000)),
        (Work::Save, "thread/agents_doc/save", effort.choose(50, 200)),
    ] {
        let rounds = Rounds { warm_up: 1, measured: effort.choose(3, 21) };
        let figures = setting.compare(work, requests, rounds).await?;
        println!("## Requests a second on SQLite: {method}\n\n{}", rates(&figures, requests));
    }
    setting.close().await
}

fn rates(figures: &Figures, requests: usize) -> Table<3> {
    let seconds = |name: &str| figures.of(name).median().as_secs_f64();
    let mut table = Table::new(["", "requests/s", "of the store's"]);
    for (name, store) in ROWS {
        let rate = requests as f64 / seconds(name);
        let share = seconds(store) / seconds(name);
        table.row([name.to_owned(), show_count(rate as u64), show_ratio(share)]);
    }
    table
}

/// A gateway with its connections, and a separate store on another file: two writers of one SQLite file would wait for
/// each other.
struct Setting {
    store: Store,
    store_thread: Arc<DeepThread>,
    gateway: TestGateway,
    gateway_thread: Arc<DeepThread>,
    clients: Vec<Client>,
    post: Arc<Mutex<PostConnection>>,
    saves: Arc<AtomicU64>,
    _directory: tempfile::TempDir,
}

impl Setting {
    async fn new() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let store = Store::open(&Database::Sqlite(directory.path().join("store.db"))).await?;
        let store_thread = DeepThread::create(&store).await?;

        let database = Database::Sqlite(directory.path().join("gateway.db"));
        let behind = Store::open(&database).await?;
        let gateway_thread = DeepThread::create(&behind).await?;
        // Closed before the gateway starts, so that nothing else has the file open while the gateway is measured.
        behind.close().await;
        let gateway = TestGateway::start_on(database).await?;
        let clients = try_join_all((0..MANY).map(|_| gateway.owner())).await?;
        let post = PostConnection::connect(&gateway.url(), &gateway.owner_secret()?).await?;
        Ok(Self {
            store,
            store_thread: Arc::new(store_thread),
            gateway,
            gateway_thread: Arc::new(gateway_thread),
            clients,
            post: Arc::new(Mutex::new(post)),
            saves: Arc::new(AtomicU64::new(1)),
            _directory: directory,
        })
    }

    async fn close(self) -> anyhow::Result<()> {
        drop((self.clients, self.post));
        self.gateway.stop().await?;
        self.store.close().await;
        Ok(())
    }

    async fn compare(&self, work: Work, requests: usize, rounds: Rounds) -> anyhow::Result<Figures> {
        let in_store = self.asker(Way::Store(self.store.clone()), &self.store_thread);
        let over_sockets: Vec<Asker> = self.clients.iter().map(|client| self.over_socket(client)).collect();
        let over_post = self.asker(Way::Post(Arc::clone(&self.post)), &self.gateway_thread);
        let store_many = vec![in_store.clone(); MANY];
        let store_one = [in_store];
        let post_one = [over_post];
        // All ways are measured in turn within each round, so that a change in the machine's load affects them alike.
        Comparison::against(STORE_ONE, async || ask_together(&store_one, work, requests).await)
            .with(SOCKET_ONE, async || ask_together(&over_sockets[..1], work, requests).await)
            .with(POST_ONE, async || ask_together(&post_one, work, requests).await)
            .with(STORE_MANY, async || ask_together(&store_many, work, requests).await)
            .with(SOCKET_MANY, async || ask_together(&over_sockets, work, requests).await)
            .run(rounds)
            .await
    }

    fn over_socket(&self, client: &Client) -> Asker {
        self.asker(Way::Socket(client.caller().clone()), &self.gateway_thread)
    }

    fn asker(&self, way: Way, thread: &Arc<DeepThread>) -> Asker {
        Asker { way, thread: Arc::clone(thread), saves: Arc::clone(&self.saves) }
    }
}
