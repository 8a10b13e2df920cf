import AccessControl
import Crypto
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The daemon with its keys in a real TPM in software, swtpm.
@Suite(.timeLimit(.minutes(10))) struct TPMStoreTests {
    private func isSigned(_ stage: TPMStage, _ right: WireRight, in context: UInt64) throws -> Bool {
        let answer = try stage.client.ask(.sign(right.rightID, in: context), tail: WireRequest.OneOf_Body.digest)
        try #require(answer.isDone, "\(answer.failure?.explanation ?? "")")
        return try isValid(answer.tail, by: right, stage)
    }

    private func isValid(_ signature: [UInt8], by right: WireRight, _ stage: TPMStage) throws -> Bool {
        try stage.tpm.write(Data(WireRequest.OneOf_Body.digest), named: "digest")
        try stage.tpm.write(Data(signature), named: "signature")
        let key = try P256.Signing.PublicKey(x963Representation: right.publicKey)
        try stage.tpm.write(Data(key.pemRepresentation.utf8), named: "right.pem")
        let output = try stage.tpm.tool(
            "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "right.pem", "-in", "digest", "-sigfile", "signature")
        return output.contains("Signature Verified Successfully")
    }

    @Test func `passcode, right, signature and item work, and after a restart too`() throws {
        let stage = try TPMStage()
        #expect(try stage.client.status().enclaveKind == "tpm")
        guard case .diagnosis(let diagnosis)? = try stage.client.ask(.diagnose(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        let finding = try #require(diagnosis.findings.first { $0.check == "enclave" })
        #expect(finding.verdict == .ok && finding.message.contains("remembers 0 of at most"))
        try stage.setPasscode()
        let right = try stage.makeRight("2fa", secret: "secret of the right")
        #expect(right.enclaveKind == "tpm")
        #expect(try isSigned(stage, right, in: stage.authorize(right)))
        let item = Array("secret of the item".utf8)
        #expect(try stage.client.ask(.addItem("item", in: nil), tail: item).items?.count == 1)

        try stage.restart()
        #expect(try stage.right("2fa") == right)
        let context = try stage.authorize(right)
        #expect(try isSigned(stage, right, in: context))
        #expect(
            try stage.client.ask(.readSecret(right.rightID, in: context)).tail == Array("secret of the right".utf8))
        #expect(try stage.client.ask(.findItems("item")).items?.count == 1)
        #expect(!FileManager.default.fileExists(atPath: stage.folders.deviceSecret), "no key is in software")
    }

    @Test func `the chip counts wrong passcodes over restarts`() throws {
        let stage = try TPMStage()
        try stage.setPasscode()
        let right = try stage.makeRight("2fa")
        _ = try stage.authorize(right)
        #expect(stage.daemon.stop() == .exited(0))
        try stage.restart(stopped: true)
        for _ in 1...2 {
            let id = try stage.client.send(
                .authorize(right.rightID, in: stage.client.openContext()), descriptor: stage.terminal.slave.number)
            stage.terminal.answer("Passcode: ", with: "not the passcode")
            stage.terminal.waitFor("Passcode: ")
            stage.terminal.clearScreen()
            stage.terminal.type("\u{3}")
            #expect(try stage.client.answer(to: id).refusal == .userCancel)
        }
        #expect(try stage.client.status().passcode.failedAttempts == 2)
        #expect(try stage.tpm.tool("tpm2_nvreadpublic").contains("|ownerread|authread|policyread|no_da|written"))
        try stage.restart()
        #expect(try stage.client.status().passcode.failedAttempts == 2)
        _ = try stage.authorize(right)
        #expect(try stage.client.status().passcode.failedAttempts == 0)
    }

    @Test func `with one spoilt answer of forty a signature is valid or refused, and the daemon goes on`() throws {
        let tpm = try SoftwareTPM()
        let proxy = try HostileProxy(to: tpm, seed: 7, oneOf: 40)
        defer { proxy.end() }
        let stage = try TPMStage(tpm, through: proxy)
        let right = try stage.makeRight("2fa", .unrestricted)
        func signs() throws -> Bool {
            let context = try stage.client.openContext()
            var answer = try stage.client.ask(.authorize(right.rightID, in: context))
            if answer.failure == nil {
                answer = try stage.client.ask(
                    .sign(right.rightID, in: context), tail: WireRequest.OneOf_Body.digest)
            }
            guard let failure = answer.failure else {
                #expect(try isValid(answer.tail, by: right, stage))
                return true
            }
            if failure.cause == "enclave.no-room" { tpm.flush() }
            return false
        }
        proxy.setHostile(true)
        var worked = 0
        for _ in 1...30 where try signs() { worked += 1 }
        #expect(worked >= 10 && proxy.deedCount >= 5, "\(worked) worked, \(proxy.deedCount) spoilt")
        proxy.setHostile(false)
        tpm.flush()
        try eventually("it signs again", signs)
        #expect(stage.daemon.stop() == .exited(0))
    }

    @Test func `an item is added and found while the chip answers nobody`() throws {
        let stage = try TPMStage()
        stage.tpm.pause()
        defer { stage.tpm.resume() }
        let item = Array("secret of the item".utf8)
        #expect(try stage.client.ask(.addItem("item", in: nil), tail: item).items?.count == 1)
        let found = try stage.client.ask(.findItems("item"))
        #expect(found.items?.count == 1 && found.tail == item)
    }

    // MARK: which enclave

    @Test func `a store stays in the enclave that it was made in, whatever the configuration says`() throws {
        let stage = try TPMStage()
        let software = "enclave = software\ntpm.tcti = \(stage.tpm.configuration)\n"
        try stage.folders.write(software, to: stage.folders.configuration)
        try stage.restart()
        #expect(try stage.client.status().enclaveKind == "tpm")

        let made = try DaemonProcess(in: DaemonFolders())
        #expect(made.stop() == .exited(0))
        try made.folders.write(TPMStage.configuration(of: stage.tpm), to: made.folders.configuration)
        let again = try made.restarted()
        #expect(try again.client().status().enclaveKind == "software")
    }

    @Test func `a store in a TPM opens in no software, and one in software in no TPM`() throws {
        let stage = try TPMStage()
        let software = try DaemonProcess(in: DaemonFolders())
        #expect(stage.daemon.stop() == .exited(0) && software.stop() == .exited(0))
        let needed = "was changed, or does not belong to this store and this device."
        let keys = try [stage.folders, software.folders].map {
            try Data(contentsOf: URL(fileURLWithPath: $0.storeKeys))
        }
        for (folders, own, other, theirs) in [
            (stage.folders, keys[0], software.folders, keys[1]), (software.folders, keys[1], stage.folders, keys[0]),
        ] {
            // The most that a writer of files can do: all files of the other enclave, and the name of its kind.
            unlink(folders.storeKeys)
            try folders.write(theirs.prefix(6) + own[6..<22] + theirs.dropFirst(22), to: folders.storeKeys)
            if FileManager.default.fileExists(atPath: other.deviceSecret) {
                try folders.write(
                    Data(contentsOf: URL(fileURLWithPath: other.deviceSecret)), to: folders.deviceSecret)
            }
            try folders.write(TPMStage.configuration(of: stage.tpm), to: folders.configuration)
            let start = try DaemonStart(in: folders)
            #expect(start.ending == .exited(1))
            #expect(start.report.contains(needed), "\(start.report)")
        }
    }

    // MARK: no TPM

    /// The store of a daemon that was stopped, and another configuration for it.
    private func refusal(of stage: TPMStage, at tcti: String) throws -> String {
        try stage.folders.write("tpm.tcti = \(tcti)\n", to: stage.folders.configuration)
        let before = try stage.folders.snapshot()
        let start = try DaemonStart(in: stage.folders)
        #expect(start.ending == .exited(1))
        #expect(try stage.folders.snapshot() == before)
        return start.report
    }

    @Test func `a TPM that is absent, another one, cleared or mute is told apart, and nothing is changed`() throws {
        let stage = try TPMStage()
        #expect(stage.daemon.stop() == .exited(0))
        let missing = stage.folders.root.path("tpm0")
        #expect(try refusal(of: stage, at: "device:\(missing)").contains("there is no TPM: \(missing) does not exist"))
        let other = try SoftwareTPM()
        #expect(try refusal(of: stage, at: other.configuration).contains("is another one, or was cleared"))
        let nobody = try SoftwareTPM()
        nobody.kill()
        #expect(try refusal(of: stage, at: nobody.configuration).contains("no TPM works at \(nobody.configuration)"))
        try stage.tpm.tool("tpm2_clear")
        #expect(try refusal(of: stage, at: stage.tpm.configuration).contains("is another one, or was cleared"))
    }

    @Test(.enabled(if: Account.isRoot, "only root can become a user without rights"))
    func `a TPM that the user may not open is not taken for an absent one`() throws {
        let stage = try TPMStage()
        #expect(stage.daemon.stop() == .exited(0))
        let closed = stage.folders.root.path("tpm0")
        try stage.folders.write("", to: closed, mode: 0)
        try stage.folders.write("tpm.tcti = device:\(closed)\n", to: stage.folders.configuration)
        // Root may open any file; without that right it is a user like others.
        let start = try DaemonStart(
            in: stage.folders,
            under: [
                "/usr/sbin/capsh", "--drop=cap_dac_override,cap_dac_read_search", "--shell=/usr/bin/env", "--",
            ])
        #expect(start.ending == .exited(1))
        #expect(start.report.contains("you may not use \(closed)"), "\(start.report)")
    }

    @Test func `a new store is not made without its TPM`() throws {
        let nobody = try SoftwareTPM()
        nobody.kill()
        let folders = try DaemonFolders(configurationText: TPMStage.configuration(of: nobody))
        let start = try DaemonStart(in: folders)
        #expect(start.ending == .exited(1))
        #expect(start.report.contains("no TPM works at"))
        #expect(try folders.snapshot().isEmpty)
    }
}
