// Built before everything else, so that the module is there when other packages ask for it.
@_exported import Combine
