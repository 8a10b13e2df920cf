import DaemonTestSupport
import Foundation
import Glibc
import SecretProgramSupport
import Testing

extension SecretsDaemonTests {
    /// Descriptors that nobody asked for. sd-bus ends a connection when there is no number for one.
    @Suite("A flood of descriptors, end to end") struct DescriptorFlood {
        private let stage: SecretsStage

        init() throws {
            stage = try SecretsStage()
            try stage.daemon.unlock()
        }

        private func limitDescriptors(of process: Int32, to count: Int) throws {
            let program = Process()
            program.executableURL = URL(fileURLWithPath: "/usr/bin/prlimit")
            program.arguments = ["--pid", "\(process)", "--nofile=\(count):1024"]
            try program.run()
            program.waitUntilExit()
            try #require(program.terminationStatus == 0)
        }

        private func descriptorCount(of process: Int32) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        }

        /// A program in a Flatpak is refused whatever it calls, and can still send.
        @Test func `a refused program that sends thousands of descriptors does not end the service, and leaves none`()
            throws
        {
            let process = try #require(stage.processID)
            // The kernel and the bus let no user have thousands on their way at a time.
            try limitDescriptors(of: process, to: 128)
            let program = try stage.connect()
            let session = try program.openSession()
            let kept = try program.create(
                "Kept", [:], "in memory", in: SecretProgram.sessionCollection, session: session)
            let before = try descriptorCount(of: process)
            let flooder = try stage.makeProgram("xdg-dbus-proxy")
            let run = try stage.play("flood", "100", by: flooder)
            #expect(run.screen.contains("answered"), "\(run.screen) \(stage.log)")
            // The collection in memory would be gone with the service.
            #expect(try program.secret(kept, session: session) == "in memory", "\(stage.log)")
            #expect(stage.processID == process && kill(process, 0) == 0)
            try eventually("what came is closed") { try descriptorCount(of: process) <= before + 8 }
            let refused = try stage.play("secret", kept, by: flooder)
            #expect(refused.screen.contains("error org.freedesktop.DBus.Error.AccessDenied"), "it was refused")
        }

        /// It would be told that it has ended.
        @Test func `a program that cannot be looked at for want of a descriptor is told so, and served later`() throws {
            let item = try stage.store("Mail", ["a": "1"], "a secret")
            let process = try #require(stage.processID)
            // All numbers below are in use.
            try limitDescriptors(of: process, to: 3)
            let refused = try stage.play("secret", item)
            #expect(refused.screen.contains("error org.freedesktop.DBus.Error.LimitsExceeded"), "\(refused.screen)")
            // sd-bus answers this one itself, and reads a file for it.
            let program = try stage.connect()
            let id = try program.bus.send(
                SecretProgram.root, "org.freedesktop.DBus.Peer", "GetMachineId", to: SecretProgram.service)
            #expect(throws: BusProgramError.self) { try program.bus.answer(id, seconds: 1) }
            try limitDescriptors(of: process, to: 1024)
            let served = try stage.play("secret", item)
            #expect(served.screen.contains("a secret"), "\(served.screen) \(stage.log)")
        }
    }
}
