//! What clients are told without asking: files that changed, and other tools.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::resource::Watched;
use super::rules::Rules;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// The most resources that all clients may watch.
const MAX_WATCHED: usize = 512;
/// The most clients that are told.
const MAX_PEERS: usize = 256;

/// Who is told what.
pub(super) struct News {
    told: Mutex<Told>,
    in_force: Arc<Rules>,
    /// Counts the changes of the rules.
    rules: watch::Sender<u64>,
}

#[derive(Default)]
struct Told {
    peers: Vec<Peer<RoleServer>>,
    watched: Vec<(Peer<RoleServer>, Arc<Watched>)>,
    /// For those who are about to listen.
    begun: Vec<Watched>,
    /// How many more are watched by those who listen.
    listened: usize,
}

fn same(one: &Peer<RoleServer>, other: &Peer<RoleServer>) -> bool {
    match (one.peer_info(), other.peer_info()) {
        (Some(one), Some(other)) => Arc::ptr_eq(&one, &other),
        _ => false,
    }
}

impl News {
    pub(super) fn new(in_force: Arc<Rules>) -> Self {
        News { told: Mutex::default(), in_force, rules: watch::Sender::new(0) }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a client that wants to know when there are other tools.
    pub(super) fn greet(&self, peer: &Peer<RoleServer>) {
        let mut told = self.told();
        told.peers.retain(|peer| !peer.is_transport_closed());
        if told.peers.len() < MAX_PEERS && !told.peers.iter().any(|other| same(other, peer)) {
            told.peers.push(peer.clone());
        }
    }

    pub(super) fn subscribe(
        &self,
        peer: &Peer<RoleServer>,
        watched: Watched,
    ) -> Result<(), ErrorData> {
        let mut told = self.told();
        told.watched.retain(|(peer, _)| !peer.is_transport_closed());
        if told.watched.iter().any(|(other, held)| held.uri == watched.uri && same(other, peer)) {
            return Ok(());
        }
        if told.watched.len() + told.listened >= MAX_WATCHED {
            return Err(too_many());
        }
        told.watched.push((peer.clone(), Arc::new(watched)));
        Ok(())
    }

    pub(super) fn unsubscribe(&self, peer: &Peer<RoleServer>, uri: &str) {
        self.told().watched.retain(|(other, held)| held.uri != uri || !same(other, peer));
    }

    /// Keeps what a client is about to listen for; returns whether there is room.
    pub(super) fn begin(&self, watched: Watched) -> bool {
        let mut told = self.told();
        if told.watched.len() + told.listened + told.begun.len() >= MAX_WATCHED {
            // Of those who never came to listen, the oldest are given up.
            if told.begun.is_empty() {
                return false;
            }
            told.begun.remove(0);
        }
        told.begun.push(watched);
        true
    }

    /// Tells one client what it listens for, until it listens no more.
    pub(super) async fn listen(
        &self,
        context: &SubscriptionContext,
        over: &CancellationToken,
    ) -> Result<(), ErrorData> {
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let mut watched = Vec::new();
        let count = {
            let mut told = self.told();
            for uri in uris {
                if let Some(at) = told.begun.iter().rposition(|begun| begun.uri == uri) {
                    watched.push(Arc::new(told.begun.remove(at)));
                }
            }
            told.listened += watched.len();
            watched.len()
        };
        let mut rules = self.rules.subscribe();
        rules.mark_unchanged();
        let sink = context.sink().clone();
        let told = async {
            loop {
                tokio::select! {
                    changed = rules.changed() => {
                        let tools = sink.accepted().tools_list_changed == Some(true);
                        if changed.is_err() || (tools && sink.notify_tool_list_changed().await.is_err()) {
                            return;
                        }
                    }
                    () = tokio::time::sleep(LOOK), if count > 0 => {
                        for at in look(watched.clone(), Arc::clone(&self.in_force)).await {
                            let uri = watched[at].uri.clone();
                            if sink.notify_resource_updated(uri).await.is_err() {
                                return;
                            }
                        }
                    }
                }
            }
        };
        tokio::select! {
            () = told => {}
            () = context.cancelled() => {}
            () = over.cancelled() => {}
        }
        self.told().listened -= count;
        Ok(())
    }

    /// Looks after everything that clients are told, until it is dropped.
    pub(super) async fn tell(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            let rules = Arc::clone(&self.in_force);
            let _ = tokio::task::spawn_blocking(move || rules.look()).await;
            // A call may have looked first.
            let version = self.in_force.version();
            if *self.rules.borrow() != version {
                self.rules.send_replace(version);
                let peers = self.told().peers.clone();
                for peer in peers.iter().filter(|peer| !peer.is_transport_closed()) {
                    let _ = peer.notify_tool_list_changed().await;
                }
            }
            self.tell_files().await;
        }
    }

    async fn tell_files(&self) {
        let watched = {
            let mut told = self.told();
            told.watched.retain(|(peer, _)| !peer.is_transport_closed());
            told.watched.clone()
        };
        if watched.is_empty() {
            return;
        }
        for at in look(
            watched.iter().map(|(_, held)| Arc::clone(held)).collect(),
            Arc::clone(&self.in_force),
        )
        .await
        {
            let (peer, held) = &watched[at];
            let notice = ResourceUpdatedNotificationParam::new(held.uri.clone());
            let _ = peer.notify_resource_updated(notice).await;
        }
    }
}

/// Returns which of what is watched has changed.
async fn look(watched: Vec<Arc<Watched>>, rules: Arc<Rules>) -> Vec<usize> {
    let looking = tokio::task::spawn_blocking(move || {
        let changed = watched.iter().enumerate().filter(|(_, held)| held.changed(&rules));
        changed.map(|(at, _)| at).collect()
    });
    looking.await.unwrap_or_default()
}

fn too_many() -> ErrorData {
    ErrorData::invalid_params("too many resources are watched already", None)
}
