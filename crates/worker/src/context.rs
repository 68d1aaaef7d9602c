//! How much of a conversation a model is shown.

use std::borrow::Cow;

use crate::model::{Message, Reply, Request, Usage};

/// How many bytes make a token, roughly.
const BYTES_PER_TOKEN: usize = 4;
/// What stands for a result that is left out.
const LEFT_OUT: &str = "[Left out to save room. Call the tool again if you need this.]";

/// Returns a conversation as it is sent: where it is longer than `limit` tokens,
/// the oldest results of tools are left out. The newest are always kept, and
/// so is all that anybody said.
pub(crate) fn fit(messages: &[Message], limit: Option<u64>) -> Cow<'_, [Message]> {
    let Some(limit) = limit else { return messages.into() };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN);
    let mut size: usize = messages.iter().map(length).sum();
    if size <= limit {
        return messages.into();
    }
    let mut kept = messages.to_vec();
    let newest = kept.len().saturating_sub(1);
    for message in &mut kept[..newest] {
        let Message::Results { results } = message else { continue };
        for result in results.iter_mut().filter(|result| result.text.len() > LEFT_OUT.len()) {
            if size <= limit {
                return kept.into();
            }
            let image = result.image.take().map_or(0, |image| image.bytes.len());
            size = size.saturating_sub(result.text.len() + image - LEFT_OUT.len());
            result.text = LEFT_OUT.to_owned();
        }
    }
    kept.into()
}

/// Returns roughly how many tokens a request and its reply have.
pub(crate) fn estimate(request: &Request<'_>, reply: &Reply) -> Usage {
    let read: usize = request.system.len() + request.messages.iter().map(length).sum::<usize>();
    let calls = reply.calls.iter().map(|call| call.arguments.to_string().len());
    let written = reply.text.len() + calls.sum::<usize>();
    let tokens = |bytes: usize| (bytes / BYTES_PER_TOKEN).max(1) as u64;
    Usage { input: tokens(read), output: tokens(written), cached: 0 }
}

fn length(message: &Message) -> usize {
    match message {
        Message::User { text, files } => {
            text.len() + files.iter().map(|file| file.bytes.len()).sum::<usize>()
        }
        Message::Model { text, calls, .. } => {
            let calls = calls.iter().map(|call| call.name.len() + call.arguments.to_string().len());
            text.len() + calls.sum::<usize>()
        }
        Message::Results { results } => {
            let image = |result: &crate::model::CallResult| {
                result.image.as_ref().map_or(0, |image| image.bytes.len())
            };
            results.iter().map(|result| result.text.len() + image(result)).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CallResult;

    fn results(text: &str) -> Message {
        let result = CallResult {
            id: String::new(),
            name: String::new(),
            text: text.to_owned(),
            is_error: false,
            image: None,
        };
        Message::Results { results: vec![result] }
    }

    #[test]
    fn the_oldest_results_are_left_out_first() {
        let user = |text: &str| Message::User { text: text.to_owned(), files: Vec::new() };
        let long = "x".repeat(400);
        let all = [user(&long), results(&long), results(&long), results(&long)];
        let texts = |limit| -> Vec<usize> { fit(&all, limit).iter().map(length).collect() };
        let out = LEFT_OUT.len();
        assert_eq!(texts(None), [400, 400, 400, 400]);
        assert_eq!(texts(Some(400)), [400, 400, 400, 400]);
        assert_eq!(texts(Some(399)), [400, out, 400, 400]);
        assert_eq!(texts(Some(250)), [400, out, out, 400]);
        assert_eq!(texts(Some(1)), [400, out, out, 400]);
    }
}
