import EnrolledTemplates
import Foundation
import Glibc

/// Runs a python program; what it prints.
func python(_ program: String, _ arguments: [String], asUser userID: UInt32? = nil) throws -> String {
    let process = Process()
    let output = Pipe()
    let wrapper = userID.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = wrapper + ["/usr/bin/python3", "-c", program] + arguments
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
}

extension EnrolledSet {
    /// The digest in hexadecimal digits; nil without one.
    var hexadecimal: String? {
        guard case .digest(let bytes) = self else { return nil }
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
