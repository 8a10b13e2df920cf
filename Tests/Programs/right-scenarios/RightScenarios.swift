// Runs one scenario of the app-side API against a real daemon and prints a line for each thing it found; the test
// compares.
import Foundation
import LocalAuthentication
import Security

@main
struct RightScenarios {
    static let reason = "run a scenario of the tests"
    static let store = LARightStore.shared
    static let challenge = Data("a server's challenge".utf8)
    static let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256

    static func main() async throws {
        switch CommandLine.arguments.dropFirst().first {
        case "life-cycle": try await lifeCycle()
        case "keys": try await keys()
        case "secret": try await secret()
        case "store": try await storage()
        case "policies": try await policies()
        case "requirements": try await requirements()
        case "fetched": try await fetched()
        case "dropped": await dropped()
        case "limits": try await limits()
        case "environment": EnvironmentScenarios.watch()
        case "domain-state": EnvironmentScenarios.domainState()
        case "queue": await EnvironmentScenarios.queue()
        case "invalidation": await EnvironmentScenarios.invalidation()
        case "current-set-make": try await CurrentSetScenarios.make()
        case "current-set-sign": try await CurrentSetScenarios.sign()
        case "current-set-read": CurrentSetScenarios.read()
        default: print("unknown scenario")
        }
    }

    static func report(_ name: String, _ outcome: String) { print("\(name): \(outcome)") }

    static func report(_ name: String, _ work: () async throws -> Void) async {
        do {
            try await work()
            print("\(name): ok")
        } catch let error as LAError {
            print("\(name): LAError \(error.code.rawValue)")
        } catch {
            let error = error as NSError
            print("\(name): \(error.domain) \(error.code)")
        }
    }

    static func saved(_ identifier: String, secret: Data? = nil) async throws -> LAPersistedRight {
        let right = LARight(requirement: .biometry(fallback: .devicePasscode))
        if let secret { return try await store.saveRight(right, identifier: identifier, secret: secret) }
        return try await store.saveRight(right, identifier: identifier)
    }

    static func lifeCycle() async throws {
        let right = try await saved("life-cycle")
        report("at first", "\(right.state.rawValue)")
        await report("check") { try await right.checkCanAuthorize() }
        report("after check", "\(right.state.rawValue)")
        await report("sign before") { _ = try await right.key.sign(challenge, algorithm: algorithm) }
        await report("authorize") { try await right.authorize(localizedReason: reason) }
        report("authorized", "\(right.state.rawValue)")
        await report("sign after") { _ = try await right.key.sign(challenge, algorithm: algorithm) }
        await right.deauthorize()
        report("deauthorized", "\(right.state.rawValue)")
        await report("sign deauthorized") { _ = try await right.key.sign(challenge, algorithm: algorithm) }
    }

    /// A second instance of an authorized right is not authorized.
    static func fetched() async throws {
        let right = try await saved("fetched")
        try await right.authorize(localizedReason: reason)
        let other = try await store.right(forIdentifier: "fetched")
        report("other state", "\(other.state.rawValue)")
        await report("sign with other") { _ = try await other.key.sign(challenge, algorithm: algorithm) }
        await report("sign with first") { _ = try await right.key.sign(challenge, algorithm: algorithm) }
        try await store.removeRight(right)
        await report("sign removed") { _ = try await right.key.sign(challenge, algorithm: algorithm) }
    }

    /// Each way in which a grant ends: the program is told, and uses nothing to find out.
    static func limits() async throws {
        try await ending("used up", LAGrantLimits(uses: 1)) { right in
            _ = try await right.key.sign(challenge, algorithm: algorithm)
        }
        try await ending("idle", LAGrantLimits(idleSeconds: 1)) { _ in }
        try await ending("too old", LAGrantLimits(hardSeconds: 2)) { _ in }
        try await ending("revoked", LAGrantLimits(hardSeconds: 3600)) { _ in try ostiary("grants", "revoke", "--all") }
        try await ending("locked", LAGrantLimits(hardSeconds: 3600)) { _ in try ostiary("lock") }
        let daemon = try daemonProcess()
        try await ending("killed", LAGrantLimits(hardSeconds: 3600)) { _ in kill(daemon, SIGKILL) }
    }

    private static func ending(
        _ name: String, _ limits: LAGrantLimits, by end: (LAPersistedRight) async throws -> Void
    ) async throws {
        let made = LARight(requirement: .biometry(fallback: .devicePasscode), grantLimits: limits)
        let right = try await store.saveRight(made, identifier: name)
        let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
        try await right.authorize(localizedReason: reason)
        let observer = NotificationCenter.default.addObserver(
            forName: LARight.didBecomeUnauthorizedNotification, object: right, queue: nil
        ) { _ in continuation.yield() }
        defer { NotificationCenter.default.removeObserver(observer) }
        // It may have ended before somebody listened.
        if right.state == .notAuthorized { continuation.yield() }
        try await end(right)
        for await _ in ends { break }
        report(name, "\(right.state.rawValue)")
        await report("\(name) again") { _ = try await right.key.sign(challenge, algorithm: algorithm) }
    }

    /// Runs the command and returns what it prints.
    @discardableResult
    private static func ostiary(_ arguments: String...) throws -> Data {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("ostiary")
        process.arguments = arguments
        (process.standardOutput, process.standardError) = (pipe, FileHandle.nullDevice)
        try process.run()
        defer { process.waitUntilExit() }
        return pipe.fileHandleForReading.readDataToEndOfFile()
    }

    /// The process that serves this program.
    private static func daemonProcess() throws -> pid_t {
        let status = try JSONSerialization.jsonObject(with: ostiary("status", "--json"))
        return pid_t((status as? [String: Any])?["processID"] as? Int ?? 0)
    }

    static func keys() async throws {
        let (first, second) = (try await saved("first"), try await saved("second"))
        for right in [first, second] { try await right.authorize(localizedReason: reason) }
        let publicKey = try await first.key.publicKey.bytes
        report("public key", "\(publicKey.count)")
        let signature = try await first.key.sign(challenge, algorithm: algorithm)
        await report("verify") {
            try await first.key.publicKey.verify(challenge, signature: signature, algorithm: algorithm)
        }
        await report("verify other") {
            try await second.key.publicKey.verify(challenge, signature: signature, algorithm: algorithm)
        }
        let ecies = SecKeyAlgorithm.eciesEncryptionStandardVariableIVX963SHA256AESGCM
        let ciphertext = try await first.key.publicKey.encrypt(challenge, algorithm: ecies)
        await report("decrypt") {
            guard try await first.key.decrypt(ciphertext, algorithm: ecies) == challenge else {
                throw CocoaError(.coderInvalidValue)
            }
        }
        await report("decrypt with other") { _ = try await second.key.decrypt(ciphertext, algorithm: ecies) }
        let exchange = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
        let parameters: [SecKeyKeyExchangeParameter: Any] = [.requestedSize: 32, .sharedInfo: Data("info".utf8)]
        let one = try await first.key.exchangeKeys(
            publicKey: try await second.key.publicKey.bytes, algorithm: exchange, parameters: parameters)
        let two = try await second.key.exchangeKeys(publicKey: publicKey, algorithm: exchange, parameters: parameters)
        report("exchange", one == two && one.count == 32 ? "equal" : "different")
        await report("sign with ecies") { _ = try await first.key.sign(challenge, algorithm: ecies) }
        try publicKey.write(to: URL(fileURLWithPath: "public-key.x963"))
    }

    static func secret() async throws {
        let right = try await saved("with-secret", secret: Data("the secret".utf8))
        await report("before") { _ = try await right.secret.rawData }
        try await right.authorize(localizedReason: reason)
        report("after", String(decoding: try await right.secret.rawData, as: UTF8.self))
        await report("all of the room") { _ = try await saved("full", secret: Data(count: 64 * 1024)) }
        for byteCount in [64 * 1024 + 1, 1024 * 1024 + 1] {
            await report("more") { _ = try await saved("too much", secret: Data(count: byteCount)) }
        }
        await report("found") { _ = try await store.right(forIdentifier: "too much") }
        let without = try await saved("without-secret")
        try await without.authorize(localizedReason: reason)
        await report("none") { _ = try await without.secret.rawData }
    }

    static func storage() async throws {
        let right = try await saved("named")
        await report("duplicate") { _ = try await saved("named") }
        let kept = try await store.right(forIdentifier: "named").key.publicKey.bytes
        report("kept", try await right.key.publicKey.bytes == kept ? "same key" : "another key")
        await report("unknown") { _ = try await store.right(forIdentifier: "nobody") }
        await report("remove unknown") { try await store.removeRight(forIdentifier: "nobody") }
        await report("remove") { try await store.removeRight(forIdentifier: "named") }
        await report("removed") { _ = try await store.right(forIdentifier: "named") }
        _ = try await saved("one")
        _ = try await saved("two")
        await report("remove all") { try await store.removeAllRights() }
        await report("all removed") { _ = try await store.right(forIdentifier: "two") }
    }

    static func policies() async throws {
        let context = LAContext()
        var error: NSError?
        report(
            "can owner", "\(context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error)) \(error?.code ?? 0)")
        report(
            "can biometrics",
            "\(context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error)) \(error?.code ?? 0)")
        await report("owner") {
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: reason)
        }
        await report("owner again") {
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: reason)
        }
        await report("biometrics") {
            try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: reason)
        }
        let silent = LAContext()
        silent.interactionNotAllowed = true
        await report("not interactive") {
            try await silent.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: reason)
        }
        context.invalidate()
        await report("invalidated") {
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: reason)
        }
    }

    /// What has a reply is mentioned nowhere but in the call that asks.
    static func dropped() async {
        let policy = await withCheckedContinuation { continuation in
            LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: reason) { success, _ in
                continuation.resume(returning: success)
            }
        }
        report("policy", "\(policy)")
        let right = await withCheckedContinuation { continuation in
            LARight().authorize(localizedReason: reason) { continuation.resume(returning: $0 == nil) }
        }
        report("right", "\(right)")
    }

    static func requirements() async throws {
        await report("biometry") { try await LARight(requirement: .biometry).checkCanAuthorize() }
        await report("current set") { try await LARight(requirement: .biometryCurrentSet).checkCanAuthorize() }
        await report("default") { try await LARight().checkCanAuthorize() }
        let right = LARight(requirement: .biometry(fallback: .devicePasscode))
        await report("authorize") { try await right.authorize(localizedReason: reason) }
        report("state", "\(right.state.rawValue)")
        await report("save biometry") {
            _ = try await store.saveRight(LARight(requirement: .biometry), identifier: "biometry")
        }
    }
}
