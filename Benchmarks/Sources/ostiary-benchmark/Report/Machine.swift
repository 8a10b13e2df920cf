import Foundation
import Glibc

/// The kind of machine that took the figures; nothing that names this machine.
struct Machine: Codable, Equatable {
    let processors: Int
    let model: String
    let kernel: String
    let memoryMegabytes: Int

    static var current: Machine {
        var names = utsname()
        uname(&names)
        let release = withUnsafeBytes(of: &names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return Machine(
            processors: ProcessInfo.processInfo.activeProcessorCount, model: processorModel, kernel: release,
            memoryMegabytes: Int(ProcessInfo.processInfo.physicalMemory / 1_000_000))
    }

    private static var processorModel: String {
        let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
        let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
        return model?.trimmingCharacters(in: .whitespaces) ?? "unknown"
    }
}
