import CSystemd
import Glibc

/// Served objects as sd-bus has them: the tables of their interfaces, the list of their paths, and a way to set properties.
@safe
final class ServedTree {
    private let objects: ServedObjects
    private let arrivals: Arrivals
    private var tables: [InterfaceTable] = []
    private var enumerator: OpaquePointer?
    private var filter: OpaquePointer?

    init(_ objects: ServedObjects, on bus: Bus, _ arrivals: Arrivals) throws(BusError) {
        self.objects = objects
        self.arrivals = arrivals
        for interface in objects.interfaces {
            tables.append(try InterfaceTable(interface, at: objects.prefix, on: bus, arrivals))
        }
        try listObjects(on: bus)
        try receiveCallsFirst(on: bus)
    }

    deinit {
        unsafe sd_bus_slot_unref(enumerator)
        unsafe sd_bus_slot_unref(filter)
    }

    private static func at(_ context: UnsafeMutableRawPointer) -> ServedTree {
        // SAFETY: the slots that have this context are freed with the object.
        unsafe Unmanaged<ServedTree>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: the list of objects

    private func listObjects(on bus: Bus) throws(BusError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let code = unsafe sd_bus_add_node_enumerator(
            bus.bus, &enumerator, objects.prefix,
            { _, _, context, paths, _ in
                guard let context = unsafe context, let paths = unsafe paths else { return -EINVAL }
                return unsafe ServedTree.at(context).list(in: paths)
            }, context)
        try BusError.check(code, "sd_bus_add_node_enumerator")
    }

    /// sd-bus frees the array and its texts.
    private func list(
        in result: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
    ) -> CInt {
        let paths = objects.paths()
        let stride = unsafe MemoryLayout<UnsafeMutablePointer<CChar>?>.stride
        guard let memory = unsafe calloc(paths.count + 1, stride) else { return -ENOMEM }
        let texts = unsafe memory.bindMemory(to: UnsafeMutablePointer<CChar>?.self, capacity: paths.count + 1)
        for (index, path) in paths.enumerated() { unsafe texts[index] = unsafe strdup(path) }
        unsafe result.pointee = unsafe texts
        return 0
    }

    // MARK: calls that sd-bus does not get

    /// Takes the calls that set a property, and those that read one whose value comes later, before sd-bus does: sd-bus wants to
    /// answer them at once, and somebody may have to be asked. And those of very long paths.
    private func receiveCallsFirst(on bus: Bus) throws(BusError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let code = unsafe sd_bus_add_filter(
            bus.bus, &filter,
            { message, context, _ in
                guard let context = unsafe context else { return 0 }
                let received = unsafe BusMessage(owning: sd_bus_message_ref(message))
                return unsafe ServedTree.at(context).take(received) ? 1 : 0
            }, context)
        try BusError.check(code, "sd_bus_add_filter")
    }

    /// sd-bus looks for an object at each part of a path, and reads all of the path each time: for one of 64 KiB, its limit, nearly a second.
    private static let pathByteCount = 1024

    private static let refuse: ServedMethod.Handler = { (_, _) throws(BusFault) in throw BusFault.unknownObject }

    /// Whether the path is the prefix, or lies below it. Of other paths sd-bus does not ask the interfaces either.
    private func isServed(_ path: String) -> Bool {
        let prefix = objects.prefix
        return prefix == "/" || path == prefix || path.hasPrefix(prefix + "/")
    }

    /// Whether it is a call for this connection. sd-bus answers all others.
    private func take(_ message: BusMessage) -> Bool {
        guard message.isCall, let path = message.path else { return false }
        guard path.utf8.count <= Self.pathByteCount else {
            arrivals.add(Arrival(message: message, handler: Self.refuse, outputs: ""))
            return true
        }
        guard message.interface == BusProperties.name, isServed(path) else { return false }
        do throws(BusError) {
            guard let arrival = try arrival(of: message, at: path) else { return false }
            arrivals.add(arrival)
            return true
        } catch { return false }
    }

    private func arrival(of message: BusMessage, at path: String) throws(BusError) -> Arrival? {
        switch (message.member ?? "", message.types) {
        case ("Set", "ssv"): try setting(message, at: path)
        case ("Get", "ss"): try reading(message, at: path, isOfOne: true)
        case ("GetAll", "s"): try reading(message, at: path, isOfOne: false)
        default: nil
        }
    }

    /// Nil unless the message sets a property that can be set.
    private func setting(_ message: BusMessage, at path: String) throws(BusError) -> Arrival? {
        let (interface, name) = (try Self.readName(message), try Self.readName(message))
        guard let table = table(of: interface, at: path), let property = table.property(name),
            let write = property.write
        else { return nil }
        return Arrival(message: message, handler: write, outputs: "", property: property.type)
    }

    /// Nil unless the message reads properties that the interface reads itself.
    private func reading(_ message: BusMessage, at path: String, isOfOne: Bool) throws(BusError) -> Arrival? {
        guard let table = table(of: try Self.readName(message), at: path), let read = table.interface.readingLater
        else { return nil }
        let name: String? = isOfOne ? try Self.readName(message) : nil
        if let name, table.property(name) == nil { return nil }
        return Arrival(
            message: message, handler: { (call, _) throws(BusFault) in try read(call, name) },
            outputs: isOfOne ? "v" : "a{sv}")
    }

    /// A name of D-Bus has at most 255 bytes. The others are left to sd-bus, which knows none of them.
    private static func readName(_ message: BusMessage) throws(BusError) -> String { try message.readText(atMost: 255) }

    /// The table of an interface that the object at `path` has.
    private func table(of interface: String, at path: String) -> InterfaceTable? {
        tables.first { $0.interface.name == interface && $0.hasObject(path) }
    }
}

private enum BusProperties {
    static let name = "org.freedesktop.DBus.Properties"
}
