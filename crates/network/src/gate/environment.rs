//! How programs inside are told of the proxy.

/// Returns the variables that lead programs to a proxy at `proxy`, which is
/// `address:port`, or `user:token@address:port` for one on the host.
///
/// Programs inside a sandbox with its own network need none of them: names lead
/// to the gate by themselves. The variables help those that ask a proxy to find
/// names for them. The proxy for everything else is named as an HTTP proxy and
/// not as a SOCKS one, although it is both: some programs fail at the sight of
/// SOCKS, and all that read the variable know HTTP.
pub fn environment(proxy: &str) -> Vec<(&'static str, String)> {
    let url = format!("http://{proxy}");
    // A proxy on the host is the only way to the host's services too; in a network
    // of its own, a sandbox has its own loopback address, and services there.
    let direct = if proxy.contains('@') { "" } else { "localhost,127.0.0.1,::1" };
    const URL: [&str; 11] = [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "npm_config_proxy",
        "npm_config_https_proxy",
        "YARN_HTTP_PROXY",
        "YARN_HTTPS_PROXY",
        "GLOBAL_AGENT_HTTP_PROXY",
    ];
    const DIRECT: [&str; 3] = ["NO_PROXY", "no_proxy", "npm_config_noproxy"];
    let mut variables: Vec<_> = URL.map(|name| (name, url.clone())).into();
    variables.extend(DIRECT.map(|name| (name, direct.to_owned())));
    variables.push(("RSYNC_PROXY", proxy.to_owned()));
    // These ask programs that ignore the others to heed them.
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables.push(("ELECTRON_GET_USE_PROXY", "1".to_owned()));
    variables
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn programs_are_told_of_the_proxy() {
        let inside: BTreeMap<_, _> = environment("127.0.0.1:3128").into_iter().collect();
        assert_eq!(inside["HTTPS_PROXY"], "http://127.0.0.1:3128");
        assert_eq!(inside["https_proxy"], "http://127.0.0.1:3128");
        assert_eq!(inside["no_proxy"], "localhost,127.0.0.1,::1");
        let host: BTreeMap<_, _> = environment("zonekeep:t@127.0.0.1:9").into_iter().collect();
        assert_eq!(host["HTTP_PROXY"], "http://zonekeep:t@127.0.0.1:9");
        assert_eq!(host["NO_PROXY"], "");
    }
}
