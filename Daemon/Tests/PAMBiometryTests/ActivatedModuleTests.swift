import Cancellations
import Foundation
import Glibc
import HelperProcesses
import HelperTestSupport
import PAMProtocol
import PAMTestSupport
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import PAMBiometry

/// The real `ostiary-pam` behind a socket of the service manager.
@Suite("PAM modules in an activated helper", .timeLimit(.minutes(10)))
struct ActivatedModuleTests {
    let services: PAMServices
    let helper: ActivatedHelper

    init() throws {
        services = try PAMServices()
        helper = try ActivatedHelper(Build.program("ostiary-pam"))
    }

    private func recognize(
        _ road: HelperRoad, of user: String? = nil, until stop: PollableCancellation? = nil,
        _ take: (PAMText) -> Void = { _ in }
    ) throws -> Result<PAMRecognition, PAMFailure> {
        let stop = try stop ?? PollableCancellation()
        let recognizer = PAMRecognizer(
            road, service: "face", user: user, systemBus: "/dev/null", folder: services.folder.path,
            trustedUserID: getuid())
        do throws(PAMFailure) { return .success(try recognizer.recognize(until: stop, take)) } catch {
            return .failure(error)
        }
    }

    @Test func `its module's texts and its result come`() throws {
        try services.writeScript("echo Look at the camera")
        var texts: [String] = []
        #expect(try recognize(helper.road) { texts.append($0.text.string) } == .success(.recognized))
        #expect(texts == ["Look at the camera"])
        try services.write("auth required pam_deny.so\n")
        #expect(try recognize(helper.road) == .success(.notRecognized))
        try eventually("no helper outlives its attempt") { helper.helpers().isEmpty }
    }

    /// The helper of the machine's daemon: the account `ostiary-pam` exists in a password database of the test's own, in a mount
    /// namespace.
    private func machineHelper() throws -> ActivatedHelper {
        let database = services.folder.path("passwd")
        let entries = try String(contentsOfFile: "/etc/passwd", encoding: .utf8)
        let entry = "ostiary-pam:x:54321:54321::/nonexistent:/usr/sbin/nologin\n"
        try Data((entries + entry).utf8).write(to: URL(fileURLWithPath: database))
        try #require(chmod(database, 0o644) == 0)
        let script =
            "mount --bind \"$0\" /etc/passwd && exec setpriv --reuid=54321 --regid=54321 --clear-groups \"$1\""
        return try ActivatedHelper(
            "/usr/bin/unshare",
            [
                "--mount", "--propagation", "private", "/bin/sh", "-c", script, database,
                Build.program("ostiary-pam"),
            ], expecting: 54321)
    }

    @Test(.enabled(if: geteuid() == 0, "only root has other accounts and mount namespaces"))
    func `under its own account it authenticates each user, and under another one only that user`() throws {
        try services.writeScript("echo $PAM_USER")
        let machine = try machineHelper()
        for user in ["nobody", "daemon", "ostiary-pam"] {
            var texts: [String] = []
            #expect(try recognize(machine.road, of: user) { texts.append($0.text.string) } == .success(.recognized))
            #expect(texts == [user])
        }
        let other = try ActivatedHelper(Build.program("ostiary-pam"), asUser: 65534)
        #expect(try recognize(other.road, of: "nobody") == .success(.recognized))
        #expect(try recognize(other.road, of: "daemon") == .failure(.otherUser))
    }

    @Test func `a cancel ends the helper and all that its module has started`() throws {
        try services.writeStarter("sleep 1000")
        let stop = try PollableCancellation()
        var child: pid_t?
        let result = try recognize(helper.road, until: stop) { text in
            child = pid_t(text.text.string)
            stop.cancel()
        }
        #expect(result == .failure(.stopped))
        let processID = try #require(child)
        try eventually("nothing is left of the attempt") { !isRunning(processID) && helper.helpers().isEmpty }
    }

    @Test func `without the service, or under another account, there is no helper`() throws {
        try services.write("auth required pam_permit.so\n")
        let other = HelperSocket(path: helper.socket.path, helperUserID: getuid() + 1, managerUserID: getuid())
        let path = helper.socket.path
        #expect(
            try recognize(.activated(other), of: "root")
                == .failure(.withoutHelper(reason: "the helper at \(path) runs as user \(getuid()), and must not")))
        helper.stopListening()
        let reason = "nobody listens at \(path): the helper's socket unit has failed or was stopped"
        #expect(try recognize(helper.road) == .failure(.withoutHelper(reason: reason)))
    }

    /// The daemon means its own user, and the helper would take it for the helper's.
    @Test func `without a name, a helper of another account is asked for nobody`() throws {
        try services.write("auth required pam_permit.so\n")
        let other = HelperSocket(path: "/nonexistent/socket", helperUserID: geteuid() + 1, managerUserID: getuid())
        #expect(try recognize(.activated(other)) == .failure(.otherUser))
    }

    /// The answer to a request that another process sends.
    private func answer(to request: PAMRequest, asUser userID: UInt32) throws -> PAMReport? {
        let program = """
            import socket, sys
            channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            channel.connect(sys.argv[1])
            channel.recv(1)
            channel.send(bytes([3, 3]))
            channel.send(bytes.fromhex(sys.argv[2]))
            print(" ".join(str(byte) for byte in channel.recv(4096)))
            """
        let bytes = try #require(request.bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = [
            "--reuid=\(userID)", "--regid=\(userID)", "--clear-groups", "/usr/bin/python3", "-c", program,
            helper.socket.path, bytes,
        ]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return PAMReport(decoding: text.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0) })
    }

    @Test(.enabled(if: geteuid() == 0, "only root becomes another user"))
    func `a helper of root takes no files that another account has chosen`() throws {
        try services.write("auth required pam_permit.so\n")
        #expect(chmod(helper.folder.path, 0o755) == 0)
        #expect(chmod(helper.socket.path, 0o666) == 0)
        let chosen = PAMRequest(service: "face", folder: services.folder.path, user: "nobody", trustedUserID: 0)
        #expect(try answer(to: chosen, asUser: 0) == .result(.recognized))
        #expect(try answer(to: chosen, asUser: 65534) == .result(.badRequest))
        let own = PAMRequest(service: "face", folder: services.folder.path, user: "nobody", trustedUserID: 65534)
        #expect(try answer(to: own, asUser: 65534) == .result(.badRequest))
        // Root's own files are checked as ever.
        let standard = PAMRequest(service: "ostiary-none", folder: "/etc/pam.d", user: "nobody", trustedUserID: 0)
        #expect(try answer(to: standard, asUser: 65534) == .result(.serviceRefused))
    }
}
