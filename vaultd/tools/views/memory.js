"use strict";
Host.start("vaultd-memory", { result: (result) => Card.take(document.getElementById("card"), result) });
