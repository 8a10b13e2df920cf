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
        try receiveSettings(on: bus)
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

    // MARK: setting properties

    /// Takes the calls that set a property before sd-bus does: sd-bus wants to answer them at once, and a person may have to be
    /// asked.
    private func receiveSettings(on bus: Bus) throws(BusError) {
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

    /// Whether the path is the prefix, or lies below it. Of other paths sd-bus does not ask the interfaces either.
    private func isServed(_ path: String) -> Bool {
        let prefix = objects.prefix
        return prefix == "/" || path == prefix || path.hasPrefix(prefix + "/")
    }

    /// Whether the message sets a property that can be set. sd-bus answers all others.
    private func take(_ message: BusMessage) -> Bool {
        guard message.isCall(BusProperties.name, "Set"), message.types == "ssv", let path = message.path else {
            return false
        }
        do throws(BusError) {
            let (interface, name) = (try message.readText(), try message.readText())
            guard isServed(path), let table = tables.first(where: { $0.interface.name == interface }),
                let property = table.interface.properties.first(where: { $0.name == name }),
                let write = property.write, table.hasObject(path)
            else { return false }
            arrivals.add(Arrival(message: message, handler: write, property: property.type))
            return true
        } catch { return false }
    }
}

private enum BusProperties {
    static let name = "org.freedesktop.DBus.Properties"
}
