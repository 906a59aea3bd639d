//! Audit counters for logins, calls and rejections.
//!
//! Counts are kept in memory and written every few seconds: neither a save nor a stranger with a bad token may cost a
//! database write each.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use parking_lot::Mutex;
use protocol::{
    AccessToken, AuditEntry, AuditEntryId, AuditEvent, AuthenticationFailure, Timestamp, TokenId, WorkspaceId,
};

use crate::access::Actor;

/// Length of a counting period: one audit entry per token, and one per address and reason.
const PERIOD_MILLISECONDS: i64 = 60_000;
/// Distinct addresses recorded per period. Without this bound, strangers could fill the disk with audit entries.
const MAX_SOURCES: usize = 16;
/// Source name for addresses beyond [`MAX_SOURCES`].
const OTHERS: &str = "others";

#[derive(Default)]
pub(crate) struct AccessCounts(Mutex<HashMap<Key, Counted>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    period: i64,
    what: CountKey,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum CountKey {
    Token(TokenId),
    Rejected(String, AuthenticationFailure, Option<TokenId>),
}

struct Counted {
    entry: AuditEntry,
    is_written: bool,
}

impl AccessCounts {
    pub(crate) fn record_login(&self, token: &AccessToken, now: Timestamp) {
        self.used(Holder::of(token), now, Use::Shown);
    }

    pub(crate) fn record_call(&self, token: &AccessToken, now: Timestamp) {
        self.used(Holder::of(token), now, Use::Called);
    }

    /// Counts a call that its token does not allow. The call itself is counted as well.
    pub(crate) fn record_forbidden(&self, actor: &Actor, now: Timestamp) {
        let Some(token_id) = &actor.token_id else { return };
        let holder = Holder { token_id, name: &actor.name, workspace_id: actor.workspace_id.as_ref() };
        self.used(holder, now, Use::Forbidden);
    }

    /// Counts a rejected login. `token` is the expired or revoked token, `None` for an unknown secret.
    pub(crate) fn record_rejection(
        &self,
        source: IpAddr,
        reason: AuthenticationFailure,
        token: Option<&AccessToken>,
        now: Timestamp,
    ) {
        let mut counts = self.0.lock();
        let period = period(now);
        let token_id = token.map(|token| token.id.clone());
        let mut key = Key { period, what: CountKey::Rejected(network(source), reason, token_id) };
        // Beyond the limit, all rejections of a period share one entry without reason and token. Attackers can vary
        // both, and each combination would otherwise be another row.
        let strangers = |key: &&Key| key.period == period && matches!(key.what, CountKey::Rejected(..));
        if !counts.contains_key(&key) && counts.keys().filter(strangers).count() >= MAX_SOURCES {
            key.what = CountKey::Rejected(OTHERS.to_owned(), AuthenticationFailure::Unknown, None);
        }
        let CountKey::Rejected(source, reason, token_id) = key.what.clone() else { return };
        let holder = token.filter(|_| token_id.is_some()).map(Holder::of);
        let counted = counts.entry(key).or_insert_with(|| {
            let event = AuditEvent::AuthenticationFailed { source, reason, count: 0, until: now };
            Counted::new(holder, event, now)
        });
        counted.is_written = false;
        if let AuditEvent::AuthenticationFailed { count, until, .. } = &mut counted.entry.event {
            *count += 1;
            *until = now;
        }
    }

    fn used(&self, holder: Holder<'_>, now: Timestamp, what: Use) {
        let key = Key { period: period(now), what: CountKey::Token(holder.token_id.clone()) };
        let mut counts = self.0.lock();
        let counted = counts.entry(key).or_insert_with(|| {
            let token_id = holder.token_id.clone();
            let until = now;
            let event = AuditEvent::TokenUsed { token_id, authentications: 0, calls: 0, forbidden: 0, until };
            Counted::new(Some(holder), event, now)
        });
        counted.is_written = false;
        if let AuditEvent::TokenUsed { authentications, calls, forbidden, until, .. } =
            &mut counted.entry.event
        {
            match what {
                Use::Shown => *authentications += 1,
                Use::Called => *calls += 1,
                Use::Forbidden => *forbidden += 1,
            }
            *until = now;
        }
    }

    /// Takes the entries to write. They count as pending again unless [`PendingEntries::confirm`] is called.
    pub(crate) fn take_to_write(&self, now: Timestamp) -> PendingEntries<'_> {
        PendingEntries { counts: self, entries: self.take(now) }
    }

    /// Returns unwritten entries and drops written ones whose period is over.
    fn take(&self, now: Timestamp) -> Vec<AuditEntry> {
        let mut counts = self.0.lock();
        // Entries of the current period stay after they were written: later calls add to the same entry, which is then
        // written again under the same id.
        counts.retain(|key, counted| key.period >= period(now) || !counted.is_written);
        let pending = counts.values_mut().filter(|counted| !counted.is_written);
        pending
            .map(|counted| {
                counted.is_written = true;
                counted.entry.clone()
            })
            .collect()
    }

    fn put_back(&self, entries: &[AuditEntry]) {
        let mut counts = self.0.lock();
        // The counts may have grown since they were taken. Marking them, instead of keeping the copies, makes the retry
        // write the newer values.
        for counted in counts.values_mut().filter(|it| entries.iter().any(|entry| entry.id == it.entry.id)) {
            counted.is_written = false;
        }
    }
}

/// Entries being written to the database.
///
/// Dropping this value marks them as unwritten again. An error and a cancelled task therefore both lead to a retry;
/// entries have stable ids, so writing one twice is harmless.
pub(crate) struct PendingEntries<'a> {
    counts: &'a AccessCounts,
    pub(crate) entries: Vec<AuditEntry>,
}

impl PendingEntries<'_> {
    pub(crate) fn confirm(mut self) {
        self.entries.clear();
    }
}

impl Drop for PendingEntries<'_> {
    fn drop(&mut self) {
        self.counts.put_back(&self.entries);
    }
}

/// Counter of a token's entry.
#[derive(Clone, Copy)]
enum Use {
    Shown,
    Called,
    /// Counted in addition to the call itself.
    Forbidden,
}

/// Token and actor an entry belongs to.
#[derive(Clone, Copy)]
struct Holder<'a> {
    token_id: &'a TokenId,
    name: &'a str,
    workspace_id: Option<&'a WorkspaceId>,
}

impl<'a> Holder<'a> {
    fn of(token: &'a AccessToken) -> Self {
        Self { token_id: &token.id, name: &token.name, workspace_id: token.workspace_id.as_ref() }
    }
}

impl Counted {
    fn new(holder: Option<Holder<'_>>, event: AuditEvent, now: Timestamp) -> Self {
        let entry = AuditEntry {
            id: AuditEntryId::new(),
            at: now,
            actor: holder.map(|holder| holder.name.to_owned()),
            workspace_id: holder.and_then(|holder| holder.workspace_id.cloned()),
            event,
        };
        Self { entry, is_written: false }
    }
}

fn period(now: Timestamp) -> i64 {
    now.milliseconds().div_euclid(PERIOD_MILLISECONDS)
}

/// Returns the address in the form used for counting. IPv6 hosts usually own a whole /64, so addresses are grouped by
/// that.
pub(crate) fn network(source: IpAddr) -> String {
    match source.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use protocol::Role;

    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_milliseconds(milliseconds)
    }

    fn token(name: &str) -> AccessToken {
        AccessToken {
            id: TokenId::new(),
            name: name.to_owned(),
            role: Role::Reader,
            workspace_id: None,
            created_at: at(0),
            created_by: None,
            expires_at: None,
            revoked_at: None,
        }
    }

    #[test]
    fn a_minute_of_a_token_is_one_entry() {
        let counts = AccessCounts::default();
        let token = token("ci");
        counts.record_login(&token, at(1_000));
        counts.record_call(&token, at(2_000));
        let [first] = &counts.take(at(3_000))[..] else { panic!() };
        counts.record_call(&token, at(4_000));
        let actor = Actor { token_id: Some(token.id.clone()), name: "ci".to_owned(), ..Actor::stdio() };
        counts.record_forbidden(&actor, at(4_000));
        let [second] = &counts.take(at(5_000))[..] else { panic!() };
        assert_eq!((&first.id, first.at, first.actor.as_deref()), (&second.id, at(1_000), Some("ci")));
        let event = AuditEvent::TokenUsed {
            token_id: token.id.clone(),
            authentications: 1,
            calls: 2,
            forbidden: 1,
            until: at(4_000),
        };
        assert_eq!(second.event, event);
        assert_eq!(counts.take(at(6_000)), []);
        counts.record_call(&token, at(61_000));
        let [next] = &counts.take(at(62_000))[..] else { panic!() };
        assert_ne!(next.id, second.id);
        assert_eq!(counts.0.lock().len(), 1, "what cannot grow any more is forgotten");
    }

    #[test]
    fn strangers_do_not_fill_the_disk() {
        let counts = AccessCounts::default();
        for number in 0..10_000_u32 {
            let source = IpAddr::V4(Ipv4Addr::from(number));
            counts.record_rejection(source, AuthenticationFailure::Unknown, None, at(0));
        }
        let entries = counts.take(at(0));
        assert_eq!(entries.len(), MAX_SOURCES + 1);
        let total: u64 = entries
            .iter()
            .map(|entry| match &entry.event {
                AuditEvent::AuthenticationFailed { count, .. } => *count,
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(total, 10_000);
    }

    #[test]
    fn failed_writes_are_repeated() {
        let counts = AccessCounts::default();
        counts.record_login(&token("ci"), at(0));
        let pending = counts.take(at(0));
        counts.put_back(&pending);
        // A task that is aborted while it writes drops the entries without confirming them.
        drop(counts.take_to_write(at(60_000)));
        let again = counts.take_to_write(at(120_000));
        assert_eq!(again.entries, pending);
        again.confirm();
        assert_eq!(counts.take(at(180_000)), []);
    }

    #[test]
    fn a_network_of_addresses_is_one_source() {
        let network = |text: &str| network(text.parse().unwrap());
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
        assert_eq!((network("::1"), network("::ffff:10.0.0.1")), ("::1".into(), "10.0.0.1".into()));
    }
}
