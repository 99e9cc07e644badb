import { spawnSync } from "node:child_process";
const cases={bare:["-e","0"],version:["dist/cli.js","--version"],help:["dist/cli.js","--help"]};
const r={};for(const k in cases)r[k]=[];
for(let i=0;i<12;i++)for(const [k,a] of Object.entries(cases)){const s=spawnSync("bash",["-c",`TIMEFORMAT='%U %S'; time ${process.execPath} ${a.map(x=>`'${x}'`).join(" ")} >/dev/null`],{encoding:"utf8"}).stderr.trim().split(" ").map(Number);r[k].push((s[0]+s[1])*1000)}
for(const k in r){r[k].sort((a,b)=>a-b);console.log(k,r[k][1],r[k][6])}
