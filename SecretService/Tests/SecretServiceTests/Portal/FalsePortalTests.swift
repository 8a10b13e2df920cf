import Foundation
import Glibc
import SecretItems
import SecretProgramSupport
import Testing

@testable import SecretService

/// Any program of the session can take the portal's name. It gets no application's secret by that.
@Suite(.timeLimit(.minutes(10))) struct FalsePortalTests {
    private static let denied = "org.freedesktop.DBus.Error.AccessDenied"
    private let served: ServedSecrets
    private let frontend: BusProgram

    init() throws {
        served = try ServedSecrets()
        frontend = try BusProgram(served.bus.address)
        _ = try frontend.call(
            "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName", to: "org.freedesktop.DBus",
            [.text("org.freedesktop.portal.Desktop"), .small(0)])
    }

    private func retrieve() throws -> (response: BusDatum?, refusal: String?, secret: Data) {
        let pipe = Pipe()
        let path = "/org/freedesktop/portal/desktop"
        var (response, refusal): (BusDatum?, String?)
        do {
            response = try frontend.call(
                path, "org.freedesktop.impl.portal.Secret", "RetrieveSecret",
                to: "org.freedesktop.impl.portal.desktop.ostiary",
                [
                    .path("\(path)/request/1_5/one"), .text("org.example.App"),
                    .descriptor(pipe.fileHandleForWriting.fileDescriptor), .properties([:]),
                ])[0]
        } catch BusProgramError.answered(let name) { refusal = name }
        try pipe.fileHandleForWriting.close()
        return (response, refusal, pipe.fileHandleForReading.readDataToEndOfFile())
    }

    @Test func `the name alone gets nothing, and with the system's file the secret`() throws {
        let refused = try retrieve()
        #expect(refused.refusal == Self.denied && refused.secret.isEmpty && served.store.rows.isEmpty)
        served.store.note(systemProgram: "xdg-desktop-portal-gtk", processID: getpid())
        #expect(try retrieve().refusal == Self.denied && served.store.rows.isEmpty)
        served.store.note(systemProgram: "xdg-desktop-portal", processID: getpid())
        let given = try retrieve()
        #expect(given.response == .small(0) && given.secret.count == 64)
        served.store.note(systemProgram: nil, processID: getpid())
        let again = try retrieve()
        #expect(again.refusal == Self.denied && again.secret.isEmpty, "nor is one that is there given")
    }
}
