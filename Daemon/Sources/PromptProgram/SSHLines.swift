import DirectionalText
import PromptProtocol

extension PromptSSHFacts {
    /// The signed data, the host, and the way that the request has come.
    var facts: [PromptText.Fact] { signed + signer + host + way }

    private var signed: [PromptText.Fact] {
        switch purpose {
        case .login(let user, let service):
            [
                PromptText.Fact(
                    label: "Signs", lead: "a login as “", text: user.string.isolated, detail: "” (\(service.string))"),
                PromptText.Fact(
                    label: "Host key", text: hostKey?.string ?? "not known; it may be any host", isOfOstiary: true),
            ]
        case .signature(let namespace):
            [
                PromptText.Fact(
                    label: "Signs", lead: "an SSH signature for “", text: namespace.string.isolated, detail: "”")
            ]
        case .unknown:
            [PromptText.Fact(label: "Signs", text: "unknown data, which may be a login", isOfOstiary: true)]
        }
    }

    private var signer: [PromptText.Fact] {
        signingKey.map { [PromptText.Fact(label: "Key", text: $0.string, isOfOstiary: true)] } ?? []
    }

    private var host: [PromptText.Fact] {
        switch hostName {
        case .ofOwner(let name)?:
            [PromptText.Fact(label: "Host", lead: "“", text: name.string.isolated, detail: "”, as you named it")]
        case .claimed(let name)?:
            [PromptText.Fact(label: "Host", lead: "“", text: PromptText.quotable(name), detail: "”, not checked")]
        case nil: []
        }
    }

    private var way: [PromptText.Fact] {
        guard isForwarded else {
            let text = "not known; another host may have asked"
            return mayBeForwarded ? [PromptText.Fact(label: "Forwarded", text: text, isOfOstiary: true)] : []
        }
        return [
            PromptText.Fact(label: "Forwarded", text: "yes; another host may have asked", isOfOstiary: true),
            PromptText.Fact(label: "By", text: shownForwarders, isOfOstiary: true),
        ]
    }

    /// The fingerprints of the hosts on the way, the nearest first. Those in the middle of a long way are only counted.
    var shownForwarders: String {
        let names = forwarders.map(\.string)
        guard names.count > 3 else { return names.joined(separator: ", ") }
        return "\(names[0]), … (\(names.count)), \(names[names.count - 1])"
    }
}
