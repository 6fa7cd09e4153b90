// Loaded before a server whose port is written into it: lets it listen at another.

import net from "node:net";

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (where, ...rest) {
  return listen.call(this, Number.isInteger(where) ? Number(process.env.AT_PORT) : where, ...rest);
};
