//! Whether a connection may be made: the rules, and where they say so, a person.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{Semaphore, watch};
use zonekeep_policy::denial::Denial;
use zonekeep_policy::hosts::{
    ConnectPermit, ConnectQuestion, ConnectVerdict, Destination, Host, judge_connect,
};

use super::{Refused, Shared, lock};
use crate::event::{Event, Reason, Refusal};

/// Where an answer will be, once there is one.
type Answer = watch::Sender<Option<Result<(), Refused>>>;

/// The questions that are being asked.
#[derive(Debug)]
pub(crate) struct Questions {
    open: Mutex<HashMap<Destination, Arc<Answer>>>,
    slots: Arc<Semaphore>,
}

impl Questions {
    pub(crate) fn new(slots: usize) -> Questions {
        Questions { open: Mutex::default(), slots: Arc::new(Semaphore::new(slots)) }
    }
}

impl Shared {
    /// Judges a connection, and asks where that is needed.
    pub(crate) async fn permit(
        self: &Arc<Shared>,
        to: &Destination,
    ) -> Result<ConnectPermit, Refusal> {
        match self.judge(to)? {
            Judged::Allowed(permit) => Ok(permit),
            Judged::Asked(question) => {
                self.answer_for(to).await?;
                Ok(question.approved())
            }
        }
    }

    fn judge(&self, to: &Destination) -> Result<Judged, Refusal> {
        let judgement = judge_connect(&self.network, &self.presets, &self.consent, to);
        match judgement.verdict {
            ConnectVerdict::Allow(permit) => Ok(Judged::Allowed(permit)),
            ConnectVerdict::Ask(question) => Ok(Judged::Asked(question)),
            ConnectVerdict::Deny(denial) => {
                let reason = match denial {
                    Denial::HostDeclined { .. } | Denial::HostUnasked { .. } => Reason::Declined,
                    _ if judgement.rule.says.starts_with("sandbox.network.deny") => Reason::Denied,
                    _ => Reason::NotAllowed,
                };
                Err(Refusal::new(reason, denial.to_string()))
            }
        }
    }

    /// Returns somebody's answer about a destination: the one that is on its way,
    /// or a new one.
    async fn answer_for(self: &Arc<Shared>, to: &Destination) -> Result<(), Refusal> {
        let mut answer = {
            let mut open = lock(&self.questions.open);
            match open.get(to).filter(|asked| !asked.is_closed()) {
                Some(asked) => asked.subscribe(),
                None => {
                    let (asked, answer) = watch::channel(None);
                    let asked = Arc::new(asked);
                    open.insert(to.clone(), Arc::clone(&asked));
                    tokio::spawn(Arc::clone(self).ask(to.clone(), asked));
                    answer
                }
            }
        };
        let unasked = || Refusal::new(Reason::Declined, "nobody could be asked");
        let answer = answer.wait_for(Option::is_some).await.map_err(|_| unasked())?;
        match answer.clone() {
            Some(Ok(())) => Ok(()),
            Some(Err(refused)) => Err(Refusal::new(Reason::Declined, refused.words)),
            None => Err(unasked()),
        }
    }

    /// Asks on a thread of its own, and forgets the answer when it is given. A
    /// question that nobody waits for is not asked, or withdrawn.
    async fn ask(self: Arc<Shared>, to: Destination, answer: Arc<Answer>) {
        let slots = Arc::clone(&self.questions.slots);
        let said = tokio::select! {
            biased;
            () = answer.closed() => None,
            slot = slots.acquire_owned() => {
                let said = self.put(&to);
                tokio::pin!(said);
                let said = tokio::select! {
                    said = &mut said => said,
                    () = answer.closed() => {
                        self.desk.withdrawn(&to);
                        said.await
                    }
                };
                drop(slot);
                Some(said)
            }
        };
        let mut open = lock(&self.questions.open);
        if open.get(&to).is_some_and(|asked| Arc::ptr_eq(asked, &answer)) {
            open.remove(&to);
        }
        drop(open);
        answer.send_replace(said);
    }

    /// Puts a question to the desk.
    async fn put(&self, to: &Destination) -> Result<(), Refused> {
        let (desk, question) = (Arc::clone(&self.desk), self.judge(to));
        let asked = self.workers.run(move || match question {
            Ok(Judged::Asked(question)) => desk.ask(&question),
            Ok(Judged::Allowed(_)) => Ok(()),
            Err(refusal) => Err(Refused::new(refusal.detail)),
        });
        asked.await.unwrap_or_else(|| Err(Refused::new("nobody could be asked")))
    }

    /// Returns what an address given to the proxy stands for: programs that look
    /// names up themselves know only the addresses that names have inside.
    pub(crate) fn meant(&self, to: Destination) -> Destination {
        let Host::Address(ip) = to.host else { return to };
        let who = lock(&self.names).who((ip, to.port).into());
        Destination { host: who.unwrap_or(to.host), port: to.port }
    }

    /// Reports what was refused.
    pub(crate) fn report(&self, to: &str, refusal: &Refusal) {
        self.desk.tell(&Event::Refused {
            to: to.to_owned(),
            reason: refusal.reason,
            detail: refusal.detail.clone(),
        });
    }
}

/// What the rules say, if they do not refuse.
enum Judged {
    Allowed(ConnectPermit),
    Asked(ConnectQuestion),
}
