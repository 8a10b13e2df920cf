import AccessControl
import ArgumentParser
import Foundation
import SSHAgent
import SSHFormats
import SSHKeyFiles

/// The limits of a key for SSH, which are fixed when it is made.
struct SSHLimitOptions: ParsableArguments {
    @Option(
        name: .customLong("host"),
        help: ArgumentHelp(
            "Log in to this host only: a name or pattern of known_hosts, whose present keys are pinned, or a host key's "
                + "fingerprint SHA256:…; may be given several times.", valueName: "host"))
    var hosts: [String] = []

    @Option(
        name: .customLong("namespace"),
        help: ArgumentHelp(
            "Make SSH signatures in this namespace only, such as git; may be given several times.",
            valueName: "namespace"))
    var namespaces: [String] = []

    @Flag(help: "Refuse requests over a forwarded agent.") var noForwarding = false

    @Flag(help: "Also sign data that is neither a login nor an SSH signature, as certificates are.")
    var permitUnknown = false

    /// In the place of the user's files and the machine's, for tests. It gives no right: the fingerprint of any key can be pinned anyway.
    @Option(name: .customLong("known-hosts"), help: .private) var knownHostsPaths: [String] = []

    static let discussion = """
        With --host the key logs in to these hosts, and with --namespace it makes signatures in these namespaces; with one of \
        them alone it does nothing else. Without both it logs in everywhere and signs in each namespace. The limits are checked \
        before you are asked. They never change; make another key for others.
        """

    /// The limits, with the host keys that known_hosts has now.
    func constraints() throws -> SSHKeyConstraints {
        let isLimited = !hosts.isEmpty || !namespaces.isEmpty
        let pins = try isLimited ? pins() : nil
        do throws(SSHKeyConstraintsError) {
            return try SSHKeyConstraints(
                hosts: pins, namespaces: isLimited ? Self.unique(namespaces) : nil, neverForwarded: noForwarding,
                permitsUnknown: permitUnknown)
        } catch { throw CommandError.usage("The limits cannot be used: \(error).") }
    }

    private static func unique(_ names: [String]) -> [String] {
        var seen: Set<Data> = []
        return names.filter { seen.insert(Data($0.utf8)).inserted }
    }

    private func pins() throws -> [SSHHostPin] {
        let files = knownHostsPaths.isEmpty ? KnownHostsFiles.ofCurrentUser : KnownHostsFiles(knownHostsPaths)
        let known = files.read()
        var pins: [SSHHostPin] = []
        for host in hosts {
            for pin in try Self.pins(of: host, in: known)
            where !pins.contains(where: {
                $0.fingerprint == pin.fingerprint
            }) {
                pins.append(pin)
            }
        }
        return pins
    }

    private static func pins(of host: String, in known: KnownHosts) throws -> [SSHHostPin] {
        if host.hasPrefix("SHA256:") {
            guard let fingerprint = try? SSHFingerprint(host) else {
                throw CommandError.usage(
                    "\(host.quotedName) is no fingerprint of a host key. `ssh-keygen -l` shows them.")
            }
            return [SSHHostPin(fingerprint: Array(fingerprint.bytes))]
        }
        let found = known.hostKeys(of: host)
        guard !found.isEmpty else {
            throw CommandError.sshKey(
                "No known_hosts file has a key of \(host.quotedName), or only revoked ones, so no key was made. Connect to the host "
                    + "once with ssh and compare its fingerprint, or give the fingerprint with --host SHA256:….")
        }
        return found.map { SSHHostPin(fingerprint: Array($0.key.fingerprint.bytes), name: $0.name) }
    }
}

/// The limits of a key in words for people.
struct SSHLimitWords {
    private let constraints: SSHKeyConstraints

    init(_ constraints: SSHKeyConstraints) { self.constraints = constraints }

    /// Short, for a cell of a table.
    var short: String {
        var parts: [String] = []
        if let hosts = constraints.hosts {
            let names = Self.unique(hosts.map { $0.name.isEmpty ? Self.fingerprint($0) : $0.name })
            parts.append(names.isEmpty ? "no login" : names.joined(separator: ", "))
        }
        if let namespaces = constraints.namespaces {
            parts.append(
                namespaces.isEmpty
                    ? "no signatures" : "signatures for " + namespaces.joined(separator: ", "))
        }
        if constraints.neverForwarded { parts.append("never forwarded") }
        if constraints.permitsUnknown { parts.append("also unknown data") }
        return parts.isEmpty ? "any host, any signature" : parts.joined(separator: "; ")
    }

    /// One line for each host key that was pinned.
    var pinnedLines: [String] {
        (constraints.hosts ?? []).map { pin in
            "Pinned \(Self.fingerprint(pin))" + (pin.name.isEmpty ? "" : ", known as \(pin.name.visibleName)") + "."
        }
    }

    static func fingerprint(_ pin: SSHHostPin) -> String {
        SSHFingerprint(bytes: pin.fingerprint)?.description ?? "an unreadable fingerprint"
    }

    private static func unique(_ names: [String]) -> [String] {
        var seen: Set<Data> = []
        return names.filter { seen.insert(Data($0.utf8)).inserted }
    }
}
